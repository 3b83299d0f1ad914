import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fetchTransport } from '../../src/chain/rpc/fetch-transport.ts'

let server: Server
let url: string
let answer: RequestListener

beforeEach(async () => {
  server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const post = (signal = new AbortController().signal) => fetchTransport(url, '{"a":1}', { timeoutMs: 2_000, signal })

it('posts JSON and gives back status and text', async () => {
  answer = async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    response.writeHead(503).end(`${request.headers['content-type']} ${Buffer.concat(parts)} é`)
  }
  expect(await post()).toEqual({ status: 503, text: 'application/json {"a":1} é' })
})

it('T78: follows no redirect', async () => {
  answer = (request, response) => {
    if (request.url === '/') response.writeHead(307, { location: '/elsewhere' }).end()
    else response.end('{}')
  }
  await expect(post()).rejects.toThrow()
})

it('T132: reads no more than 1 MB', async () => {
  answer = (_request, response) => void response.end('x'.repeat(1_000_001))
  await expect(post()).rejects.toThrow(RangeError)
})

it('stops when it is told to', async () => {
  answer = () => {}
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 10)
  await expect(post(stop.signal)).rejects.toThrow()
})
