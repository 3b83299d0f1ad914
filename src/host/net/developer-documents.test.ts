import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createDocumentReader } from './developer-documents.ts'

const wallet = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const entry = { wallet, service: 'https://pay.example' }
const servers: Server[] = []
const readers = {
  localnet: createDocumentReader('localnet'),
  devnet: createDocumentReader('devnet'),
  mainnet: createDocumentReader('mainnet'),
  hasty: createDocumentReader('localnet', 200),
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})
afterAll(async () => {
  for (const reader of Object.values(readers)) await reader.close()
})

/** A host on this machine, and the paths that it was asked for. */
async function host(listener: RequestListener): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, asked }
}

const says =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)

describe('createDocumentReader', () => {
  it('reads the document of a host, by its name and by its address', async () => {
    const { port, asked } = await host(says(200, JSON.stringify(entry)))
    for (const { read } of [readers.localnet, readers.devnet]) {
      for (const name of ['127.0.0.1', 'localhost']) {
        expect(await read(`${name}:${port}`)).toEqual({ kind: 'document', entries: [entry] })
      }
    }
    expect(asked).toEqual(Array(4).fill('GET /.well-known/paystile-developer.json'))
  })

  it.each([
    [says(200, '<html>'), 'unusable', 'it is not { "wallet", "service" } in JSON'],
    [says(404, 'no'), 'unusable', 'it does not exist (404)'],
    [says(410, 'no'), 'unusable', 'it does not exist (410)'],
    [says(500, JSON.stringify(entry)), 'unavailable', 'the host returned 500'],
    [says(503, ''), 'unavailable', 'the host returned 503'],
    [says(429, ''), 'unavailable', 'the host returned 429'],
    [says(403, ''), 'unavailable', 'the host returned 403'],
    [says(204, ''), 'unavailable', 'the host returned 204'],
    [says(203, JSON.stringify(entry)), 'unavailable', 'the host returned 203'],
  ] as const)('judges an answer: %#', async (listener, kind, why) => {
    const { port } = await host(listener)
    expect(await readers.localnet.read(`127.0.0.1:${port}`)).toEqual({ kind, why: expect.stringContaining(why) })
  })

  it('follows no redirect, wherever it leads', async () => {
    const target = await host(says(200, JSON.stringify(entry)))
    for (const status of [301, 302, 303, 307, 308]) {
      const { port } = await host(says(status, '', { location: `http://127.0.0.1:${target.port}/x` }))
      expect(await readers.localnet.read(`127.0.0.1:${port}`)).toEqual({
        kind: 'unusable',
        why: 'it redirects, and redirects are not followed',
      })
    }
    expect(target.asked).toEqual([])
  })

  it('reads no more than 10,000 bytes, whether they were announced or not', async () => {
    const padded = JSON.stringify([entry]).padEnd(10_000)
    const whole = await host(says(200, padded))
    expect(await readers.localnet.read(`127.0.0.1:${whole.port}`)).toMatchObject({ kind: 'document' })
    let sent = 0
    const endless: RequestListener = (_request, response) => {
      response.on('error', () => {})
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) sent += 65_536
      }
      response.on('drain', more)
      more()
    }
    for (const listener of [says(200, `${padded} `), endless]) {
      const { port } = await host(listener)
      expect(await readers.localnet.read(`127.0.0.1:${port}`)).toEqual({
        kind: 'unusable',
        why: 'it has more than 10000 bytes',
      })
    }
    expect(sent).toBeLessThan(50_000_000)
  })

  it('waits no longer than it was told to, for a silent host and for one that drips', async () => {
    const drip: RequestListener = (_request, response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    }
    for (const listener of [() => {}, drip]) {
      const { port } = await host(listener)
      expect(await readers.hasty.read(`127.0.0.1:${port}`)).toMatchObject({ kind: 'unavailable' })
    }
  })

  it('T143: a name that leads to this machine is not followed where money is real', async () => {
    const { port, asked } = await host(says(200, JSON.stringify(entry)))
    const forbidden = { kind: 'unavailable', why: 'the host resolves to a private network' }
    expect(await readers.mainnet.read(`localhost:${port}`)).toEqual(forbidden)
    expect(asked).toEqual([])
  })

  it('T143: no host is where clouds keep their secrets', async () => {
    for (const reader of Object.values(readers)) {
      for (const name of ['169.254.169.254', '100.100.100.200', '[fd00:ec2::254]', '0.0.0.0', '[::ffff:a9fe:a9fe]']) {
        expect(await reader.read(name)).toEqual({ kind: 'unavailable', why: 'its address is not a host' })
      }
    }
  })

  it('tells of a host that is not there without naming it', async () => {
    const { port } = await host(() => {})
    servers.pop()?.close()
    const reading = await readers.localnet.read(`127.0.0.1:${port}`)
    expect(reading).toEqual({ kind: 'unavailable', why: 'the host cannot be reached (ECONNREFUSED)' })
  })
})
