import { ServerResponse } from 'node:http'
import { expect, it, vi } from 'vitest'
import { type Exchange, exchange } from '../../../tests/harness/exchange.ts'
import type { Answer } from '../../core/http/http.ts'
import { expectAnswer } from './expected-answer.ts'

const body = '{"price":"0.01"}'
const headers = Object.freeze({ 'Content-Type': 'application/json', 'Content-Length': String(body.length) })
const answer: Answer = { kind: 'answer', status: 402, headers, body }

type Send = (response: ServerResponse) => void

/** One response, without the value of `Date`. */
async function read(send: Send, method = 'GET'): Promise<Exchange> {
  const { text, inPieces } = await exchange((_request, response) => send(response), method)
  return { text: text.replace(/^Date: .*$/m, 'Date:'), inPieces }
}

const other = { 'Content-Type': 'text/plain', 'Content-Length': '4' }
const sendings: readonly (readonly [string, Send])[] = [
  ['the answer', (response) => void response.writeHead(402, headers).end(body)],
  ['equal headers', (response) => void response.writeHead(402, { ...headers }).end(body)],
  ['another status', (response) => void response.writeHead(403, headers).end(body)],
  ['a reason', (response) => void response.writeHead(402, 'Pay First', headers).end(body)],
  ['another answer', (response) => void response.writeHead(500, other).end('text')],
  ['another body', (response) => void response.writeHead(402, headers).end('x'.repeat(body.length))],
  ['the body as bytes', (response) => void response.writeHead(402, headers).end(Buffer.from(body))],
  ['the body with an encoding', (response) => void response.writeHead(402, headers).end(body, 'utf8')],
  ['the body in parts', (response) => void (response.writeHead(402, headers).write(body) && response.end())],
  ['a header of its own', (response) => void response.setHeader('X-Own', 'yes').writeHead(402, headers).end(body)],
  ['no head', (response) => void response.end(body)],
]

it.each(sendings)('writes the same bytes as Node if a framework sends %s', async (_name, send) => {
  for (const method of ['GET', 'HEAD']) {
    const byNode = await read(send, method)
    const expected: Send = (response) => {
      expectAnswer(response, answer)
      send(response)
    }
    expect((await read(expected, method)).text).toBe(byNode.text)
  }
})

it('hands the answer to the socket in one piece', async () => {
  const send: Send = (response) => {
    expectAnswer(response, answer)
    response.writeHead(402, headers).end(body)
  }
  expect((await read(send)).inPieces).toBe(0)
})

it.each<[string, Answer]>([
  ['headers of its own', { ...answer, varying: [['X-Own', 'yes']] }],
  ['cookies', { ...answer, cookies: ['a=b'] }],
  ['a compressed body', { ...answer, bytes: new Uint8Array(4) }],
])('expects no answer with %s', async (_name, special) => {
  const methods: unknown[] = []
  await read((response) => {
    expectAnswer(response, special)
    methods.push(response.writeHead, response.end)
    response.end()
  })
  expect(methods).toEqual([ServerResponse.prototype.writeHead, ServerResponse.prototype.end])
})

it('keeps a method that other code has replaced', async () => {
  const called = vi.fn()
  await read((response) => {
    const { writeHead } = response
    response.writeHead = ((...head: Parameters<typeof writeHead>) => {
      called()
      return Reflect.apply(writeHead, response, head)
    }) as typeof writeHead
    expectAnswer(response, answer)
    response.writeHead(402, headers).end(body)
  })
  expect(called).toHaveBeenCalledOnce()
})
