/**
 * Traces forwarding if a collector is configured: a span up to the end of the response, with its context for the
 * upstream.
 */
import type { Trace } from '../../core/runtime.ts'
import { forward, type ProxyRequest } from './forward.ts'
import type { Outgoing } from './request-head.ts'

export function forwardTraced(proxyRequest: ProxyRequest, outgoing: Outgoing, trace: Trace): void {
  const { request, response, target, metered } = proxyRequest
  void trace.span('paystile.forward', { 'http.request.method': request.method }, async (note) => {
    const ended = new Promise<void>((resolve) => void response.once('close', resolve))
    forward(proxyRequest, withTrace(outgoing(request, target, metered?.pass.facts()), trace.headers()))
    await ended
    note({ 'http.response.status_code': response.statusCode, 'paystile.whole': response.writableFinished })
  })
}

/** The gateway's trace context replaces the client's. Without a collector the client's is forwarded unchanged. */
function withTrace(headers: string[], ours: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(ours)
  if (names.length === 0) return headers
  const replaced = new Set([...names, 'traceparent', 'tracestate'])
  const kept = headers.filter((_part, index) => !replaced.has((headers[index - (index % 2)] ?? '').toLowerCase()))
  return [...kept, ...Object.entries(ours).flat()]
}
