/** Next.js route handlers, and any other function from `Request` to `Response`. */
import type { PaystileOptions } from '../api/factory-options.ts'
import { openPaywall } from '../compose/paywall.ts'
import type { Incoming } from '../core/http/http.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { openPaystile, type Paystile } from './factory.ts'
import { type Lifecycle, withLifecycle } from './lifecycle.ts'
import { followResponses } from './node-response/current-response.ts'
import type { PaystileRoutes } from './routes.ts'
import { beginDelivery, createResponse, deliver, ignoreNext, readWebIncoming } from './web.ts'

export { paymentOf } from './payment-of.ts'

type RouteHandler<Call extends readonly unknown[]> = (request: Request, ...rest: Call) => Response | Promise<Response>
type Protect = <Call extends readonly unknown[]>(
  handler: RouteHandler<Call>,
) => (request: Request, ...rest: Call) => Promise<Response>

type Endpoint = (request: Request) => Promise<Response>

/**
 * One service for all routes of an application: `charge` for each route, `routes` for the service's own endpoints (in
 * `app/[...path]/route.js`), and one `close`.
 *
 * @example
 * const paystile = createPaystile({ recipient, network: 'localnet' })
 * export const GET = paystile.charge({ price: 0.01 })(async () => Response.json(report))
 */
export function createPaystile(options: PaystileOptions = {}): Paystile<Protect, Endpoint> {
  return openPaystile(options, { protect, mount })
}

/**
 * `createPaystile(…).charge(…)` for one route, with all options in one object.
 *
 * @example
 * const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })
 * export const GET = paid(async () => Response.json(report))
 */
export function create402Middleware(options: ProviderOptions): Protect & Lifecycle {
  const paywall = openPaywall(options)
  return withLifecycle(paywall, protect(paywall))
}

function protect(paywall: Paywall): Protect {
  followResponses()
  return (handler) =>
    async (request, ...rest) => {
      const entry = await paywall.enter(withoutEncoding(readWebIncoming(request)))
      if (entry.kind === 'answer') return createResponse(entry)
      if (!entry.pass) return handler(request, ...rest)
      const delivery = beginDelivery(entry.pass, request)
      if (!delivery) return ignoreNext()
      try {
        return deliver(delivery, await handler(request, ...rest))
      } catch (error) {
        const status = statusThrown(error)
        if (status !== undefined) {
          entry.pass.begin({ status, length: 0, contentRange: undefined, type: undefined })
          entry.pass.end('finished', 0)
          throw error
        }
        entry.pass.end('failed', 0)
        return createResponse(paywall.handlerFailed(error))
      }
    }
}

/** Next compresses responses itself, and drops the `Content-Encoding` of those that are compressed already. */
function withoutEncoding(incoming: Incoming): Incoming {
  return { ...incoming, header: (name) => (name === 'accept-encoding' ? undefined : incoming.header(name)) }
}

function mount({ fetch }: PaystileRoutes): Endpoint {
  return (request) => {
    const headers = new Headers(request.headers)
    headers.delete('accept-encoding')
    return fetch(new Request(request, { headers }))
  }
}

/** Next's `redirect()` and `notFound()` respond by throwing. They count as responses. */
function statusThrown(error: unknown): number | undefined {
  const digest = typeof error === 'object' && error !== null && 'digest' in error ? String(error.digest) : ''
  if (digest.startsWith('NEXT_REDIRECT;')) return 307
  if (digest === 'NEXT_NOT_FOUND') return 404
  const status = /^NEXT_HTTP_ERROR_FALLBACK;(\d{3})$/.exec(digest)?.[1]
  return status === undefined ? undefined : Number(status)
}
