import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHeader } from './request-header.ts'

/** A request as Node's parser makes it. */
function createRequest(fields: readonly string[]): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  const parser = request as unknown as { _addHeaderLines(fields: readonly string[], count: number): void }
  parser._addHeaderLines(fields, fields.length)
  return request
}

/** The same from Node's object of all headers. */
function readParsed(fields: readonly string[], name: string): string | undefined {
  const value = createRequest(fields).headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Whether Node has built that object. */
function isParsed(request: IncomingMessage): boolean {
  const field = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'kHeaders')
  return field === undefined || Reflect.get(request, field) !== null
}

const names = ['host', 'payment-proof', 'accept', 'cookie', 'set-cookie', 'authorization', 'x-a'] as const

describe('readHeader', () => {
  it('reads the same as Node, with repeated names in any case', () => {
    const name = fc.constantFrom(...names).chain((lower) => fc.mixedCase(fc.constant(lower)))
    const field = fc.tuple(name, fc.string({ maxLength: 8 }))
    fc.assert(
      fc.property(fc.array(field, { maxLength: 8 }), fc.constantFrom(...names), (list, asked) => {
        const fields = list.flat()
        expect(readHeader(createRequest(fields), asked)).toBe(readParsed(fields, asked))
      }),
    )
  })

  it('builds no object of all headers, in this version of Node too', () => {
    const request = createRequest(['Host', 'shop', 'Payment-Proof', 'tx=1', 'Accept', '*/*'])
    expect([readHeader(request, 'payment-proof'), readHeader(request, 'origin')]).toEqual(['tx=1', undefined])
    expect(isParsed(request)).toBe(false)
  })

  it('reads headers that the application has changed', () => {
    const request = createRequest(['Host', 'shop'])
    request.headers.host = 'other'
    expect(readHeader(request, 'host')).toBe('other')
  })

  it('ignores the lines that Node ignores', () => {
    const request = new IncomingMessage(new Socket())
    const fields = Array.from({ length: 100 }, (_, index) => [`x-${index}`, '']).flat()
    const parser = request as unknown as { _addHeaderLines(fields: readonly string[], count: number): void }
    parser._addHeaderLines([...fields, 'payment-proof', 'tx=1'], fields.length)
    expect(readHeader(request, 'payment-proof')).toBeUndefined()
  })

  it('reads from requests that are not of Node', () => {
    const request = { headers: { host: 'inject' }, rawHeaders: [] } as unknown as IncomingMessage
    expect(readHeader(request, 'host')).toBe('inject')
  })
})
