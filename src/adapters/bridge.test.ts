import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { exchange } from '../../tests/harness/exchange.ts'
import { sendAnswer } from './bridge.ts'

const body = '{"requestId":"é"}'
const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length), Date: 'today' }
const answer = { kind: 'answer', status: 402, headers, body, varying: [['X-Own', 'yes']] } as const

const sendByNode = (response: ServerResponse) => {
  response.setHeader('X-Own', 'yes')
  response.writeHead(402, headers).end(body, 'latin1')
}

it.each(['GET', 'POST', 'HEAD'])('answers %s with the bytes that Node would send', async (method) => {
  const expected = await exchange((_, response) => sendByNode(response), method)
  const { text } = await exchange((_, response) => sendAnswer(response, answer), method)
  expect(text).toBe(expected.text)
  expect(text.endsWith(method === 'HEAD' ? '\r\n\r\n' : body)).toBe(true)
})

// Node 24 does so itself.
it('hands head and body to the socket in one piece, on every supported version of Node', async () => {
  expect((await exchange((_, response) => sendAnswer(response, answer))).inPieces).toBe(0)
})

const withLines = { ...answer, varyingLines: 'X-Own: yes\r\n' } as const
const readLines = (text: string) => text.split('\r\n').filter((line) => /^x-/i.test(line))

it.each(['GET', 'HEAD'])('adds lines to the head of an answer to %s', async (method) => {
  const { text } = await exchange((_, response) => {
    response.setHeader('X-Theirs', 'too')
    sendAnswer(response, withLines)
    // The line came past Node.
    expect(response.hasHeader('X-Own')).toBe(false)
  }, method)
  expect(text).toMatch(/^HTTP\/1\.1 402 Payment Required\r\n/)
  expect(readLines(text)).toEqual(['X-Theirs: too', 'X-Own: yes'])
  expect(text.endsWith(method === 'HEAD' ? '\r\n\r\n' : `X-Own: yes\r\n\r\n${body}`)).toBe(true)
})

it('replaces a header of the application once, also by lines', async () => {
  const { text } = await exchange((_, response) => {
    response.setHeader('x-own', 'no')
    sendAnswer(response, withLines)
  })
  expect(readLines(text)).toEqual(['X-Own: yes'])
})

it.each(['setHeader', 'writeHead', 'write', 'end'] as const)('leaves headers to Node with another %s', async (name) => {
  const { text } = await exchange((_, response) => {
    const method = response[name] as (...all: unknown[]) => unknown
    Object.assign(response, { [name]: (...all: unknown[]) => method.apply(response, all) })
    sendAnswer(response, withLines)
    expect(response.getHeader('X-Own')).toBe('yes')
  })
  expect(readLines(text)).toEqual(['X-Own: yes'])
})

const changes: readonly (readonly [string, (response: ServerResponse) => void, string])[] = [
  [
    'end',
    (response) => {
      const { end } = response
      response.end = ((chunk: string, encoding: BufferEncoding) =>
        end.call(response, chunk.toUpperCase(), encoding)) as typeof end
    },
    body.toUpperCase(),
  ],
  [
    'write',
    (response) => {
      response.write = response.write.bind(response) as typeof response.write
    },
    body,
  ],
  [
    'writeHead',
    (response) => {
      const { writeHead } = response
      response.writeHead = ((status: number, given: object) => {
        response.setHeader('Transfer-Encoding', 'chunked')
        const { 'Content-Length': length, ...others } = given as typeof headers
        expect(length).toBe(String(body.length))
        return writeHead.call(response, status, others)
      }) as typeof writeHead
    },
    `11\r\n${body}\r\n0\r\n\r\n`,
  ],
]

it.each(changes)('leaves the body to middleware that replaces %s', async (_, change, expected) => {
  const { text } = await exchange((_request, response) => {
    change(response)
    sendAnswer(response, answer)
  })
  expect(text.endsWith(expected)).toBe(true)
})
