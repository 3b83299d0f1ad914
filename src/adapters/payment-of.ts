/** Finds the payment of a request, for the request types of all frameworks. */
import type { IncomingMessage } from 'node:http'
import type { PaymentFacts } from '../paywall/delivery/receipt.ts'
import { paymentOf as readPayment } from '../paywall/handle-request.ts'

/**
 * A request of Node, Express or the platform; a request of Fastify or Hono, which has it as `raw`; or Hono's context.
 */
export type FrameworkRequest =
  | IncomingMessage
  | Request
  | { readonly raw: IncomingMessage | Request }
  | { readonly req: { readonly raw: Request } }

/**
 * The payment of a request that a paywall has admitted, for its handler; undefined without one.
 *
 * It takes the request that the framework passes to the handler (in Hono also the context), not a copy of it.
 *
 * @example
 * app.get('/report', paid, (request, response) => response.json({ thanks: paymentOf(request)?.amount }))
 */
export function paymentOf(request: FrameworkRequest): PaymentFacts | undefined {
  const { raw, req } = request as { readonly raw?: object; readonly req?: { readonly raw?: object } }
  // The request itself comes first, because an application may have set its own `raw` on it.
  return readPayment(request) ?? readPayment(raw ?? req?.raw ?? {})
}
