/** CORS: the headers that browsers of other origins may send, and those that their scripts may read. */
import type { Answer, Incoming } from '../../core/http/http.ts'
import { allowanceHeader } from '../../core/payment/allowance.ts'
import { statusHeader } from '../../core/payment/delivery.ts'
import { acceptHeader, proofHeader } from '../../core/protocol/proof.ts'
import { receiptHeader } from '../../core/protocol/receipt.ts'
import type { Dialects } from '../../dialects/join.ts'

/** Without `Content-Range` a page could not resume a truncated response. */
const others = ['Retry-After', 'Date', 'Content-Range'] as const

/** No cookies are involved: the holder of a proof can read from any origin. */
const corsHeaders: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': [receiptHeader, allowanceHeader, statusHeader, ...others].join(', '),
}

const known = new WeakMap<Dialects, Readonly<Record<string, string>>>()

/** The headers for scripts of other origins, with those of every dialect of the route. */
export function readCorsHeaders(dialects: Dialects): Readonly<Record<string, string>> {
  const { responseHeaders } = dialects
  if (responseHeaders.length === 0) return corsHeaders
  const found = known.get(dialects)
  if (found) return found
  const exposed = [corsHeaders['Access-Control-Expose-Headers'], ...responseHeaders].join(', ')
  const headers = { ...corsHeaders, 'Access-Control-Expose-Headers': exposed }
  known.set(dialects, headers)
  return headers
}

/** A preflight is free and does not affect payments. Undefined for another `OPTIONS` request. */
export function answerPreflight(incoming: Incoming): Answer | undefined {
  const method = incoming.header('access-control-request-method')
  if (method === undefined) return undefined
  const asked = incoming.header('access-control-request-headers') ?? ''
  const names = asked.split(',').map((name) => name.trim())
  const allowed = new Map([proofHeader, acceptHeader, 'Content-Type'].map((name) => [name.toLowerCase(), name]))
  for (const name of names) if (/^[A-Za-z0-9-]{1,64}$/.test(name)) allowed.set(name.toLowerCase(), name)
  return {
    kind: 'answer',
    status: 204,
    headers: {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': /^[A-Za-z]{1,16}$/.test(method) ? method : 'GET',
      'Access-Control-Allow-Headers': [...allowed.values()].join(', '),
      'Access-Control-Max-Age': '600',
      Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    },
    body: '',
  }
}
