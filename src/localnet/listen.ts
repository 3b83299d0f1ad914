/**
 * Opens two adjacent loopback ports: RPC on the first, and only WebSockets on the second, where web3.js expects them.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import { PaystileError } from '../core/errors/paystile-error.ts'

const attempts = 50

export async function listenOnPair(port: number, onRequest: RequestListener) {
  for (let attempt = 1; ; attempt++) {
    const rpc = createServer(onRequest)
    const sockets = createServer((_request, response) => {
      response.writeHead(426, { 'content-type': 'text/plain' }).end('WebSocket only: JSON-RPC is on the port below\n')
    })
    for (const server of [rpc, sockets]) limit(server)
    try {
      const chosen = await listen(rpc, port)
      await listen(sockets, chosen + 1)
      return { rpc, sockets, port: chosen, close: () => closeAll([rpc, sockets]) }
    } catch (cause) {
      await closeAll([rpc, sockets])
      if (port === 0 && attempt < attempts) continue
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new PaystileError(
        'ports_unavailable',
        `the localnet needs two free ports, ${port} and ${port + 1}: ${why}`,
        { cause },
      )
    }
  }
}

function limit(server: Server): void {
  // Clients keep idle connections for less. With Node's five seconds, a busy process closes connections that they use.
  server.keepAliveTimeout = 60_000
  server.headersTimeout = 10_000
  server.requestTimeout = 30_000
  server.maxConnections = 2_000
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    if (port > 65_535) {
      reject(new Error('port 65535 is the highest'))
      return
    }
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map(
      (server) =>
        new Promise<void>((resolve) => {
          if (!server.listening) {
            resolve()
            return
          }
          server.close(() => resolve())
          server.closeAllConnections()
        }),
    ),
  )
}
