/** Bodies that are read ahead of the handler: it finds them as if nobody had. */
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { readNodeBody, readWebBody } from '../../src/adapters/body.ts'
import { ask } from '../harness/raw.ts'

/** What a handler that listens to events hears, some time after the body was read ahead. */
async function serve(): Promise<string> {
  const answer = async (request: IncomingMessage): Promise<string> => {
    const reading = await readNodeBody(request, 1_000)
    await new Promise((resolve) => setTimeout(resolve, 10))
    const heard = await new Promise<string>((resolve) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => resolve(text))
    })
    return `${reading.kind} ${reading.kind === 'body' ? reading.bytes.length : ''} ${heard}`
  }
  const server = createServer((request, response) => void answer(request).then((text) => response.end(text)))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it.each([
  ['none', 'GET', [], 'body 0 '],
  ['an empty one', 'POST', ['Content-Length: 0'], 'body 0 '],
  ['a short one', 'POST', ['Content-Length: 5', '', 'hello'], 'body 5 hello'],
  ['one in chunks', 'POST', ['Transfer-Encoding: chunked', '', '5', 'hello', '0'], 'body 5 hello'],
])('of %s the handler hears the end', async (_name, method, lines, heard) => {
  const url = await serve()
  expect((await ask(url, `${method} / HTTP/1.1`, lines)).body).toBe(heard)
})

it('T+: one that is too long is found so at once, though its length was not said', async () => {
  const chunks = Array.from({ length: 10 }, () => new Uint8Array(1_000))
  const init = { method: 'POST', body: Readable.toWeb(Readable.from(chunks)), duplex: 'half' }
  const request = new Request('http://localhost/', init as unknown as RequestInit)
  expect(await readWebBody(request, 2_000)).toEqual({ kind: 'too_long' })
  expect(request.bodyUsed).toBe(false)
})

it('ends with an error if its client leaves, and no other reader gets it', async () => {
  const readings: string[] = []
  const server = createServer((request) => {
    void readNodeBody(request, 1_000).then(async ({ kind }) => {
      readings.push(kind, (await readNodeBody(request, 1_000)).kind)
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
  await new Promise((resolve) => server.once('request', resolve))
  socket.destroy()
  await expect.poll(() => readings).toEqual(['broken', 'gone'])
})

it('one that had not begun when its client left is broken, too', async () => {
  const message = new IncomingMessage(new Socket())
  message.headers['content-length'] = '10'
  message.destroy()
  expect(await readNodeBody(message, 1_000)).toEqual({ kind: 'broken' })
})

it('one of a Request that breaks off is broken', async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error('the client disconnected')),
  })
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit
  expect(await readWebBody(new Request('http://localhost/', init), 1_000)).toEqual({ kind: 'broken' })
})
