/** A price service on this machine, which answers whatever a test wants it to. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHttpTransport } from '../../src/host/net/transport.ts'

export interface PriceServer {
  readonly url: string
  readonly get: ReturnType<typeof createHttpTransport>['get']
  readonly asked: readonly IncomingMessage[]
  /** Answers JSON from now on. */
  tell(answer: unknown): void
  /** Answers in any way from now on. */
  act(listener: RequestListener): void
  close(): Promise<void>
}

export async function openPriceServer(): Promise<PriceServer> {
  const asked: IncomingMessage[] = []
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end()
  const server = createServer((request, response) => {
    asked.push(request)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const http = createHttpTransport()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get: http.get,
    asked,
    tell(answer) {
      listener = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    },
    act(other) {
      listener = other
    },
    async close() {
      await http.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers that are none, each of which a source must throw on. */
export const brokenAnswers: readonly (readonly [name: string, listener: RequestListener, why: RegExp])[] = [
  [
    'a web page',
    (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>sorry</html>'),
    /did not return prices/,
  ],
  ['a server error', (_request, response) => void response.writeHead(500).end('{}'), /returned 500/],
  ['a missing key', (_request, response) => void response.writeHead(401).end('unauthorized'), /401: .*API key/],
  ['a wrong key', (_request, response) => void response.writeHead(403).end('Not entitled'), /403: .*API key/],
  ['too many questions', (_request, response) => void response.writeHead(429).end(), /429: .*too many requests/],
  [
    'a redirect',
    (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('{}'),
    /returned 302/,
  ],
  ['half an answer', (_request, response) => void response.end('{"parsed":[{"id":"ef0d'), /did not return prices/],
  ['nothing', (_request, response) => void response.end(), /did not return prices/],
  ['null', (_request, response) => void response.end('null'), /did not return prices/],
  ['a list', (_request, response) => void response.end('[]'), /did not return prices/],
  ['a number that is none', (_request, response) => void response.end('{"a":NaN}'), /did not return prices/],
  ['two megabytes', (_request, response) => void response.end(`{"a":"${'x'.repeat(2_000_000)}"}`), /./],
  ['a broken connection', (request) => void request.socket.destroy(), /./],
]
