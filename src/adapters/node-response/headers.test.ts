import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Fields, listFields, readLength, setHeaders, setPaidHeader, wrapHeaders } from './headers.ts'

const names = [
  'Vary',
  'vary',
  'Cache-Control',
  'cache-control',
  'Set-Cookie',
  'ETag',
  'Content-Length',
  'X-One',
  'x-one',
]
const field = fc.tuple(fc.constantFrom(...names), fc.constantFrom('1', '2', 'no-store', '*', 'Origin'))
const paid = fc.constantFrom('Cache-Control', 'Vary', 'Payment-Receipt', 'Access-Control-Allow-Origin')

function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()))
}

/** As a client reads them. */
function said(fields: Fields): Readonly<Record<string, string>> {
  const lower = [...new Set(fields.getHeaderNames().map((name) => name.toLowerCase()))].sort()
  return Object.fromEntries(lower.map((name) => [name, [fields.getHeader(name)].flat().join(', ')]))
}

it('changes a list as it changes headers that were set', () => {
  fc.assert(
    fc.property(
      fc.array(field, { maxLength: 8 }),
      fc.array(fc.tuple(paid, fc.constantFrom('a', 'b'))),
      (given, ours) => {
        const response = newResponse()
        const list = listFields(newResponse(), given.flat())
        if (!list) throw new Error('a list of texts was not taken')
        setHeaders(response, given.flat())
        for (const fields of [response, list]) {
          for (const [name, value] of ours) setPaidHeader(fields, name, value)
          fields.removeHeader('X-ONE')
          wrapHeaders(fields, { prefix: '{', suffix: '}' })
        }
        expect(said(list)).toEqual(said(response))
        expect(readLength(list)).toBe(readLength(response))
        expect(list.all().length).toBe(list.getHeaderNames().length * 2)
      },
    ),
  )
})

it('tells one length that is said twice, and corrects both', () => {
  const twice = ['Content-Length', '2', 'content-length', '2']
  const response = newResponse()
  setHeaders(response, twice)
  for (const fields of [response, listFields(newResponse(), twice)]) {
    if (!fields) throw new Error('a list of texts was not taken')
    expect(readLength(fields)).toBe(2)
    wrapHeaders(fields, { prefix: '{', suffix: '}' })
    expect(String(fields.getHeader('content-length'))).toBe('4')
  }
})

it('passes values that are not lists of texts, and appended headers, to Node unchanged', () => {
  const response = newResponse()
  for (const given of [undefined, null, { a: 'b' }, [['a', 'b']], ['a', 1], ['a']]) {
    expect(listFields(response, given as never)).toBeUndefined()
  }
  expect(listFields(response, ['a', 'b'])).toBeDefined()
  response.setHeader('b', 'c')
  expect(listFields(response, ['a', 'b'])).toBeUndefined()
})
