/** Forwarding as part of a trace, where somebody collects them: a span up to the end of the response, and its name for the upstream. */
import type { Trace } from '../../core/runtime.ts'
import type { ProxyRequest } from './forward.ts'
import { forward } from './forward.ts'
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

/** What a client says of traces gives way to what is ours; without a collector it passes as it came. */
function withTrace(headers: string[], ours: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(ours)
  if (names.length === 0) return headers
  const replaced = new Set([...names, 'traceparent', 'tracestate'])
  const kept = headers.filter((_part, index) => !replaced.has((headers[index - (index % 2)] ?? '').toLowerCase()))
  return [...kept, ...Object.entries(ours).flat()]
}
