import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpTransport, type HttpTransport } from './transport.ts'

let server: Server
let url: string
let http: HttpTransport
let answer: RequestListener
let seen: IncomingMessage[]

beforeEach(async () => {
  seen = []
  server = createServer((request, response) => {
    seen.push(request)
    void answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc?api-key=secret`
  http = createHttpTransport()
})

afterEach(async () => {
  await http.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const post = (body = '{}', timeoutMs = 2_000, signal = new AbortController().signal) =>
  http.transport(url, body, { timeoutMs, signal })

describe('createHttpTransport', () => {
  it('posts JSON to the whole address and gives back status and text', async () => {
    answer = async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      response.writeHead(429).end(`got ${Buffer.concat(parts)}`)
    }
    expect(await post('{"a":1}')).toEqual({ status: 429, text: 'got {"a":1}', dateMs: expect.any(Number) })
    expect(seen[0]?.method).toBe('POST')
    expect(seen[0]?.url).toBe('/rpc?api-key=secret')
    expect(seen[0]?.headers['content-type']).toBe('application/json')
  })

  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', 784_111_777_000],
    ['soon', undefined],
    [undefined, undefined],
  ])('tells the time of an answer dated %s', async (date, dateMs) => {
    answer = (_request, response) => {
      response.sendDate = false
      response.writeHead(200, date === undefined ? {} : { date }).end('{}')
    }
    expect((await post('{}')).dateMs).toBe(dateMs)
  })

  it('sends a name and password in the address as a header', async () => {
    answer = (_request, response) => void response.end('{}')
    url = url.replace('http://', 'http://me:p%40ss@')
    await post()
    expect(seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  it('keeps connections for the next calls', async () => {
    answer = (_request, response) => void response.end('{}')
    for (let call = 0; call < 20; call += 1) await post()
    // A call right after another may find its connection not quite free yet, and take a second one.
    expect(new Set(seen.map((request) => request.socket.remotePort)).size).toBeLessThanOrEqual(3)
  })

  it('T78: follows no redirect', async () => {
    answer = (_request, response) => void response.writeHead(307, { location: '/elsewhere' }).end()
    expect((await post()).status).toBe(307)
    expect(seen).toHaveLength(1)
  })

  it('T132: reads no more than 1 MB', async () => {
    answer = (_request, response) => void response.end('x'.repeat(1_000_001))
    await expect(post()).rejects.toThrow()
    answer = (_request, response) => void response.end('x'.repeat(1_000_000))
    expect((await post()).text).toHaveLength(1_000_000)
  })

  it('stops when it is told to', async () => {
    answer = () => {}
    const stop = new AbortController()
    const waiting = post('{}', 2_000, stop.signal)
    const start = performance.now()
    setTimeout(() => stop.abort(), 10)
    await expect(waiting).rejects.toThrow()
    expect(performance.now() - start).toBeLessThan(1_000)
  })

  it('stops in the middle of an answer, too', async () => {
    answer = (_request, response) => void response.writeHead(200).write('{')
    const stop = new AbortController()
    const waiting = post('{}', 2_000, stop.signal)
    setTimeout(() => stop.abort(), 30)
    await expect(waiting).rejects.toThrow()
  })

  it('asks over other connections while one answer is slow', async () => {
    let release = () => {}
    answer = (_request, response) => {
      if (seen.length === 1) release = () => void response.end('slow')
      else response.end('fast')
    }
    const slow = post()
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 2))
    expect((await post()).text).toBe('fast')
    release()
    expect((await slow).text).toBe('slow')
  })
})

describe('get', () => {
  const get = (timeoutMs = 2_000, signal = new AbortController().signal, headers?: Record<string, string>) =>
    http.get(url, { timeoutMs, signal, ...(headers && { headers }) })

  it('asks the whole address with the given headers and gives back status and text', async () => {
    answer = (_request, response) => void response.writeHead(404).end('nothing here')
    expect(await get(2_000, undefined, { 'x-api-key': 'k' })).toEqual({ status: 404, text: 'nothing here' })
    expect(seen[0]?.method).toBe('GET')
    expect(seen[0]?.url).toBe('/rpc?api-key=secret')
    expect(seen[0]?.headers['x-api-key']).toBe('k')
    expect(seen[0]?.headers.accept).toBe('application/json')
    expect(seen[0]?.headers['content-type']).toBeUndefined()
  })

  it('sends a name and password in the address as a header', async () => {
    answer = (_request, response) => void response.end('{}')
    url = url.replace('http://', 'http://me:p%40ss@')
    await get()
    expect(seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  it('does not remember the headers of one question for the next', async () => {
    answer = (_request, response) => void response.end('{}')
    await get(2_000, undefined, { 'x-api-key': 'k' })
    await get()
    expect(seen[1]?.headers['x-api-key']).toBeUndefined()
  })

  it('follows no redirect', async () => {
    answer = (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end()
    expect((await get()).status).toBe(302)
    expect(seen).toHaveLength(1)
  })

  it('reads no more than 1 MB', async () => {
    answer = (_request, response) => void response.end('x'.repeat(1_000_001))
    await expect(get()).rejects.toThrow()
  })

  it('gives up on an answer that never comes, and on one that drips', async () => {
    answer = () => {}
    const start = performance.now()
    await expect(get(40)).rejects.toThrow()
    let dripping: NodeJS.Timeout | undefined
    answer = (_request, response) => {
      response.writeHead(200)
      dripping = setInterval(() => response.write(' '), 5)
    }
    await expect(get(40)).rejects.toThrow()
    clearInterval(dripping)
    expect(performance.now() - start).toBeLessThan(1_000)
  })

  it('stops when it is told to', async () => {
    answer = () => {}
    const stop = new AbortController()
    const waiting = get(2_000, stop.signal)
    const start = performance.now()
    setTimeout(() => stop.abort(), 10)
    await expect(waiting).rejects.toThrow()
    expect(performance.now() - start).toBeLessThan(1_000)
  })
})
