/** The payment behind a request, by the request of any framework. */
import type { IncomingMessage } from 'node:http'
import type { PaymentFacts } from '../paywall/delivery/admitted.ts'
import { paymentOf as readPayment } from '../paywall/delivery/admitted.ts'

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
  const { raw, req } = request as { readonly raw?: object; readonly req?: { readonly raw?: object } }
  // The request itself comes first: an application may have put a `raw` of its own on it.
  return readPayment(request) ?? readPayment(raw ?? req?.raw ?? {})
}
