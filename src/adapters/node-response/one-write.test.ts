import type { ServerResponse } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { type Exchange, exchange } from '../../../tests/harness/exchange.ts'
import { endWithWhole } from './one-write.ts'

type Handler = (response: ServerResponse) => void

/** One response, without the header `Date`. */
function send(handler: Handler, method = 'GET', isStrict = false): Promise<Exchange> {
  return exchange((_request, response) => {
    response.strictContentLength = isStrict
    response.sendDate = false
    handler(response)
  }, method)
}

type Body = readonly [chunk: string | Uint8Array, encoding?: BufferEncoding]

/** Ends a response as the metered response does: through Node if the body cannot follow the head. */
function end(response: ServerResponse, [chunk, encoding]: Body, callback?: () => void): boolean {
  const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
  const isDone = endWithWhole(response, response, { chunk, bytes, encoding }, callback)
  if (!isDone) response.end(chunk, encoding ?? 'utf8', callback)
  return isDone
}

const bodies: readonly (readonly [string, Body])[] = [
  ['ASCII', ['{"answer":42}']],
  ['other text', ['Grüße, 世界 🌍']],
  ['latin1', ['Gr\u00fc\u00dfe', 'latin1']],
  ['hexadecimal', ['00ff10', 'hex']],
  ['base64', ['AP8Q', 'base64']],
  ['bytes', [Uint8Array.from({ length: 256 }, (_, index) => index)]],
  ['a part of bytes', [Buffer.from('before and after').subarray(7, 10)]],
]
const heads: readonly (readonly [string, Handler])[] = [
  ['no head', () => {}],
  ['headers', (response) => void response.setHeader('Content-Type', 'text/plain').setHeader('X-Own', ['a', 'b'])],
  ['a written head', (response) => void response.writeHead(201, { 'X-Own': 'yes' })],
  ['a status without a body', (response) => void Object.assign(response, { statusCode: 304 })],
  ['a chunked head', (response) => void response.setHeader('Transfer-Encoding', 'chunked')],
  ['a removed length', (response) => response.removeHeader('Content-Length')],
]

describe.each(bodies)('%s', (_name, body) => {
  it.each(heads)('after %s is sent as Node would send it', async (_head, prepare) => {
    for (const method of ['GET', 'HEAD']) {
      const byNode = await send((response) => {
        prepare(response)
        response.end(body[0], body[1] ?? 'utf8')
      }, method)
      const byUs = await send((response) => {
        prepare(response)
        end(response, body)
      }, method)
      expect(byUs.text).toBe(byNode.text)
    }
  })
})

it('hands head and body to the socket in one piece, on every supported version of Node', async () => {
  expect((await send((response) => void end(response, ['{"answer":42}']))).inPieces).toBe(0)
})

it('calls back when the response is sent', async () => {
  const called = vi.fn()
  await send((response) => void end(response, ['text'], called))
  expect(called).toHaveBeenCalledOnce()
})

it.each<[string, Body, (response: ServerResponse) => void, boolean]>([
  ['a long body', ['x'.repeat(8_193)], () => {}, false],
  ['a head that was sent', ['text'], (response) => response.flushHeaders(), false],
  ['a body that Node counts', ['text'], () => {}, true],
  [
    'a replaced method',
    ['text'],
    (response) => {
      response.write = response.write.bind(response) as typeof response.write
    },
    false,
  ],
])('leaves %s to Node', async (_name, body, prepare, isStrict) => {
  const done: boolean[] = []
  const { text } = await send(
    (response) => {
      prepare(response)
      done.push(end(response, body))
    },
    'GET',
    isStrict,
  )
  expect(done).toEqual([false])
  expect(text).toContain(body[0])
})
