/** Next.js route handlers, and any other function from `Request` to `Response`. */
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import type { Lifecycle } from './lifecycle.ts'
import { withLifecycle } from './lifecycle.ts'
import { followResponses } from './node-response/current-response.ts'
import { beginDelivery, createResponse, deliver, ignoreNext, readWebIncoming } from './web.ts'

type RouteHandler<Call extends readonly unknown[]> = (request: Request, ...rest: Call) => Response | Promise<Response>
type Protect = <Call extends readonly unknown[]>(
  handler: RouteHandler<Call>,
) => (request: Request, ...rest: Call) => Promise<Response>

/**
 * Protects a route handler.
 *
 * @example
 * const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })
 * export const GET = paid(async () => Response.json(report))
 */
export function create402Middleware(options: ProviderOptions): Protect & Lifecycle {
  const paywall = openPaywall(options)
  followResponses()
  const protect: Protect =
    (handler) =>
    async (request, ...rest) => {
      const entry = await paywall.enter(readWebIncoming(request))
      if (entry.kind === 'answer') return createResponse(entry)
      if (!entry.pass) return handler(request, ...rest)
      const delivery = beginDelivery(entry.pass, request)
      if (!delivery) return ignoreNext()
      try {
        return deliver(delivery, await handler(request, ...rest))
      } catch (error) {
        const status = statusThrown(error)
        if (status !== undefined) {
          entry.pass.begin({ status, length: 0, contentRange: undefined })
          entry.pass.end('finished', 0)
          throw error
        }
        entry.pass.end('failed', 0)
        return createResponse(paywall.handlerFailed(error))
      }
    }
  return withLifecycle(paywall, protect)
}

/** Next's `redirect()` and `notFound()` answer by throwing. They are answers all the same, and count as such. */
function statusThrown(error: unknown): number | undefined {
  const digest = typeof error === 'object' && error !== null && 'digest' in error ? String(error.digest) : ''
  if (digest.startsWith('NEXT_REDIRECT;')) return 307
  if (digest === 'NEXT_NOT_FOUND') return 404
  const status = /^NEXT_HTTP_ERROR_FALLBACK;(\d{3})$/.exec(digest)?.[1]
  return status === undefined ? undefined : Number(status)
}
