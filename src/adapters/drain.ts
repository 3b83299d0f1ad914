/** Shuts down a server on Node without losing a response. */
import { hasListeningServer, listOpen } from '../compose/open-paywalls.ts'
import { findHttp2Connections } from './http2-connections.ts'
import type { Lifecycle } from './lifecycle.ts'

/** A server of `node:http`, `node:https` or `node:http2`, or a framework's wrapper of one. */
interface Drainable {
  close(done: () => void): unknown
  prependListener(event: 'request', listener: (request: unknown, response: object) => void): unknown
  closeIdleConnections?(): void
  closeAllConnections?(): void
}

/** Time limit for unpaid responses: as long as the paywall's limit for paid ones. */
const longestMs = 31_000
const sweepMs = 50

/**
 * Stops a server and its paywalls. The server accepts no new connections, new proofs get `503 shutting_down`, and
 * running responses finish (within 30 s). Remaining grants are returned, and idle connections do not keep the process
 * alive. A paywall that was left out is named in the log, and closed once no server of the process accepts connections.
 *
 * @example
 * process.once('SIGTERM', () => drain(server, paid))
 */
export async function drain(server: Drainable, ...paywalls: readonly Pick<Lifecycle, 'close'>[]): Promise<void> {
  if (typeof server?.close !== 'function' || typeof server.prependListener !== 'function')
    throw new TypeError('drain: the first argument must be the server that app.listen() returns')
  if (!paywalls.every((paywall) => typeof paywall?.close === 'function'))
    throw new TypeError('drain: the arguments after the server must be paywalls: drain(server, paid)')
  const closed = new Promise<void>((resolve) => stopListening(server, resolve))
  const http2 = findHttp2Connections(server)
  // Tells clients to send their next request over another connection. A listener would change a server of HTTP/2
  // streams.
  if (!http2)
    server.prependListener('request', (_request, response) => void Object.assign(response, { shouldKeepAlive: false }))
  // Connections of running responses become idle one by one.
  const sweep = setInterval(() => server.closeIdleConnections?.(), sweepMs)
  const limit = setTimeout(() => {
    server.closeAllConnections?.()
    http2?.destroy()
  }, longestMs)
  try {
    await Promise.all(paywalls.map((paywall) => paywall.close()))
    // Not earlier, because a session that ends loses the PING that confirms the arrival of a paid body.
    http2?.end()
    await closed
    await closeForgotten()
  } finally {
    clearInterval(sweep)
    clearTimeout(limit)
  }
}

/**
 * `close` also ends idle connections. To Node 26, a connection is idle until its first request is read, so idle ones stay
 * until the first sweep.
 */
function stopListening(server: Drainable, done: () => void): void {
  const { closeIdleConnections } = server
  if (closeIdleConnections) server.closeIdleConnections = () => {}
  server.close(done)
  if (closeIdleConnections) server.closeIdleConnections = closeIdleConnections
}

/** A paywall holds its ledger and nodes, and so keeps the process alive, although no request can reach it. */
async function closeForgotten(): Promise<void> {
  // The handle of a closed server is released at the end of a turn.
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  if (hasListeningServer(process.getActiveResourcesInfo())) return
  const forgotten = listOpen()
  for (const { name, log } of forgotten)
    log.warn('drain.incomplete', { what: name, why: 'it was not passed to drain(server, ...); it is closed now' })
  await Promise.all(forgotten.map(({ close }) => close()))
}
