/**
 * Forwards preflights to an upstream that handles CORS itself. They are free, so the client gets only the decision: an
 * upstream that ignores the method would give the resource away.
 */
import { passesToClient } from '../headers.ts'
import { chooseStatus, type ProxyRequest } from './forward.ts'
import { sendProblem } from './problem.ts'

/** A short answer is read to its end, so that its connection can be used again. */
const mostBytes = 8_192

/** The body of the request is not forwarded. Outcomes do not count for the health of the route: anyone can cause them. */
export function forwardPreflight(proxyRequest: ProxyRequest, headers: string[]): void {
  const { response, target, upstream, pool, pages } = proxyRequest
  const client = new AbortController()
  const leave = (): void => client.abort()
  response.once('close', leave)
  const options = { path: upstream.prefix + target, method: 'OPTIONS', headers, signal: client.signal } as const
  pool
    .request({ ...options, headersTimeout: upstream.answerMs, bodyTimeout: upstream.answerMs })
    .then(({ statusCode, headers: answered, body }) => {
      response.off('close', leave)
      body.dump({ limit: mostBytes }).catch(() => {})
      const decision = Object.fromEntries(Object.entries(answered).filter(([name]) => isDecision(name)))
      response.writeHead(statusCode < 300 ? 204 : statusCode, decision).end()
    })
    .catch((error) => {
      if (response.headersSent || response.destroyed) return
      sendProblem(response, pages, 'upstream_failed', chooseStatus(error), 'The resource failed.')
    })
}

function isDecision(name: string): boolean {
  return passesToClient(name) && (name === 'vary' || name.startsWith('access-control-'))
}
