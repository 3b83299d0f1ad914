/** The end of a server on Node, in the order in which nobody loses a response. */
import { hasListeningServer, listOpen } from '../compose/open-paywalls.ts'
import type { Lifecycle } from './lifecycle.ts'

/** A server of `node:http` or `node:https`, or what a framework makes of one. */
interface Drainable {
  close(done: () => void): unknown
  prependListener(event: 'request', listener: (request: unknown, response: object) => void): unknown
  closeIdleConnections?(): void
  closeAllConnections?(): void
}

/** How long what is not paid may hold up the end: as long as what is paid, which a paywall sees to. */
const longestMs = 31_000
const sweepMs = 50

/**
 * Stops a server and its paywalls: no new connections, `503 shutting_down` for new proofs, running responses end (30 s at
 * the most), what is left is given back, and no connection that waits for its next request keeps the process. A paywall that
 * was left out is named in the log, and closed once no server of the process takes connections.
 *
 * @example
 * process.once('SIGTERM', () => drain(server, paid))
 */
export async function drain(server: Drainable, ...paywalls: readonly Pick<Lifecycle, 'close'>[]): Promise<void> {
  if (typeof server?.close !== 'function' || typeof server.prependListener !== 'function') {
    throw new TypeError('drain: the first argument is the server, as app.listen() returns it')
  }
  if (!paywalls.every((paywall) => typeof paywall?.close === 'function')) {
    throw new TypeError('drain: after the server come the paywalls, one by one: drain(server, paid)')
  }
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A client that is told in time sends its next request elsewhere.
  server.prependListener('request', (_request, response) => void Object.assign(response, { shouldKeepAlive: false }))
  // Those of running responses become idle one by one.
  const sweep = setInterval(() => server.closeIdleConnections?.(), sweepMs)
  const limit = setTimeout(() => server.closeAllConnections?.(), longestMs)
  try {
    await Promise.all(paywalls.map((paywall) => paywall.close()))
    await closed
    await closeForgotten()
  } finally {
    clearInterval(sweep)
    clearTimeout(limit)
  }
}

/** A paywall holds its ledger and its nodes, and so the process, although no request can reach it any more. */
async function closeForgotten(): Promise<void> {
  // The handle of a closed server is let go of at the end of a turn.
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  if (hasListeningServer(process.getActiveResourcesInfo())) return
  const forgotten = listOpen()
  for (const { name, log } of forgotten)
    log.warn('left out of drain', { what: name, why: 'drain(server, ...) names all that was opened; it is closed now' })
  await Promise.all(forgotten.map(({ close }) => close()))
}
