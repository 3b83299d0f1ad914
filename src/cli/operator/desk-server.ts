/** The HTTP server of a desk: two endpoints with small JSON bodies. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Desk, type DeskAnswer, refuse } from '../../venues/desk.ts'

export interface DeskServer {
  readonly url: string
  close(): Promise<void>
}

const longestBody = 8_192
const requestMs = 10_000
const mostConnections = 256

export async function listenForDesk(
  desk: Desk,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<DeskServer> {
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) => {
    void answer(desk, request).then(({ status, body }) => {
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', connection: 'close' }
      response.writeHead(status, headers).end(JSON.stringify(body))
    })
  })
  server.maxConnections = mostConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(desk: Desk, request: IncomingMessage): Promise<DeskAnswer> {
  const work = { '/quote': desk.quote, '/sign': desk.sign }[request.url ?? '']
  if (!work) return refuse(404, 'the desk supports POST /quote and POST /sign')
  if (request.method !== 'POST') return refuse(405, 'the desk supports POST /quote and POST /sign')
  try {
    const body = await readBody(request)
    return body === undefined ? refuse(413, 'the body is too long') : await work(JSON.parse(body))
  } catch (error) {
    return error instanceof SyntaxError ? refuse(400, 'the body must be JSON') : refuse(500, 'the desk failed')
  }
}

/** Undefined if the body is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
    if (length > longestBody) return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}
