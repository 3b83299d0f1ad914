import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { endWithWhole } from './one-write.ts'

let close = () => {}
afterEach(() => {
  vi.restoreAllMocks()
  close()
})

type Handler = (response: ServerResponse) => void

/** The bytes that a server sends for a request, and the number of pieces in which it hands them to the socket. */
async function exchange(handler: Handler, method: string, isStrict = false) {
  const server = createServer((_request, response) => {
    response.strictContentLength = isStrict
    response.sendDate = false
    handler(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => void server.close()
  const writev = vi.spyOn(Socket.prototype as Socket & { _writev: () => void }, '_writev').mockClear()
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const piece of socket.setEncoding('latin1')) text += piece
  // Other tests of the same worker may still write.
  const own = writev.mock.contexts.filter((socket) => Reflect.get(Object(socket), 'server') === server)
  return { text, inPieces: own.length }
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
      const byNode = await exchange((response) => {
        prepare(response)
        response.end(body[0], body[1] ?? 'utf8')
      }, method)
      close()
      const byUs = await exchange((response) => {
        prepare(response)
        end(response, body)
      }, method)
      close()
      expect(byUs.text).toBe(byNode.text)
    }
  })
})

it('hands head and body to the socket in one piece, on every supported version of Node', async () => {
  expect((await exchange((response) => void end(response, ['{"answer":42}']), 'GET')).inPieces).toBe(0)
})

it('calls back when the response is sent', async () => {
  const called = vi.fn()
  await exchange((response) => void end(response, ['text'], called), 'GET')
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
  const { text } = await exchange(
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
