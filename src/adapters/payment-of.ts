/** The payment behind a request, by the request of any framework. */
import type { IncomingMessage } from 'node:http'
import { paymentOf as readPayment } from '../paywall/delivery/open-pass.ts'
import type { PaymentFacts } from '../paywall/delivery/pass.ts'

/** A request of Node, Express or the platform; that of Fastify or Hono, which has it as `raw`; or Hono's context. */
export type FrameworkRequest =
  | IncomingMessage
  | Request
  | { readonly raw: IncomingMessage | Request }
  | { readonly req: { readonly raw: Request } }

/**
 * The payment behind a request that a paywall has let in, for its handler; undefined where there is none.
 *
 * It takes the request that the framework gives to the handler (in Hono, the context does too), and not a copy of it.
 *
 * @example
 * app.get('/report', paid, (request, response) => response.json({ thanks: paymentOf(request)?.amount }))
 */
export function paymentOf(request: FrameworkRequest): PaymentFacts | undefined {
  return readPayment(findRaw(request))
}

function findRaw(request: FrameworkRequest): object {
  if ('raw' in request) return request.raw
  // Express has a `req` in its requests, too, which has no `raw`.
  if ('req' in request && 'raw' in request.req) return request.req.raw
  return request
}
