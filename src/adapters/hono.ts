/** Hono 4. On Node it observes the socket, on other runtimes the stream of the response. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler, Next } from 'hono'
import type { PaystileOptions } from '../api/factory-options.ts'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import type { RequestOutcome } from '../paywall/handle-request.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { readIncoming as incomingOfNode } from './bridge.ts'
import { openPaystile, type Paystile } from './factory.ts'
import { type Lifecycle, withLifecycle } from './lifecycle.ts'
import { expectAnswer } from './node-response/expected-answer.ts'
import { attachPass } from './node-response/metered-response.ts'
import type { PaystileRoutes } from './routes.ts'
import { beginDelivery, createResponse, deliver, ignoreNext, readWebIncoming } from './web.ts'

export { drain } from './drain.ts'
export { paymentOf } from './payment-of.ts'

/**
 * The values that `@hono/node-server` puts into the environment.
 */
interface NodeBindings {
  readonly incoming?: IncomingMessage
  readonly outgoing?: ServerResponse
}

/**
 * One service for all routes of an application: `charge` for each route, `routes` for the service's own endpoints, and one
 * `close`.
 *
 * @example
 * const paystile = createPaystile({ recipient, network: 'localnet' })
 * app.use(paystile.routes())
 * app.get('/report', paystile.charge({ price: 0.01 }), handler)
 */
export function createPaystile(options: PaystileOptions = {}): Paystile<MiddlewareHandler, MiddlewareHandler> {
  return openPaystile(options, { protect, mount })
}

/**
 * `createPaystile(…).charge(…)` for one route, with all options in one object.
 *
 * @example
 * app.get('/report', create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }), handler)
 */
export function create402Middleware(options: ProviderOptions): MiddlewareHandler & Lifecycle {
  const paywall = openPaywall(options)
  return withLifecycle(paywall, protect(paywall))
}

function protect(paywall: Paywall): MiddlewareHandler {
  return (context, next) => {
    const { incoming, outgoing } = (context.env ?? {}) as NodeBindings
    const { raw } = context.req
    const visit = incoming ? incomingOfNode(incoming, targetOf(raw.url), raw) : readWebIncoming(raw)
    const entry = paywall.enter(visit)
    if (entry instanceof Promise) return entry.then((decided) => proceed(decided, context, next))
    if (entry.kind !== 'answer') return proceed(entry, context, next)
    if (outgoing) expectAnswer(outgoing, entry)
    // Returned directly, not as a promise, because every unpaid request takes this path. The type does not allow it.
    return createResponse(entry) as unknown as Promise<Response>
  }
}

function mount({ owns, fetch }: PaystileRoutes): MiddlewareHandler {
  return (context, next) => {
    if (!owns(context.req.path)) return next()
    const { incoming } = (context.env ?? {}) as NodeBindings
    return fetch(context.req.raw, incoming ? { incoming } : {})
  }
}

function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('://') + 3))
}

async function proceed(entry: RequestOutcome, context: Context, next: Next): Promise<Response | undefined> {
  if (entry.kind === 'answer') return createResponse(entry)
  const { outgoing } = (context.env ?? {}) as NodeBindings
  if (!entry.pass) await next()
  else if (outgoing) {
    if (!attachPass(outgoing, entry.pass)) return ignoreNext()
    await next()
  } else {
    const delivery = beginDelivery(entry.pass, context.req.raw)
    if (!delivery) return ignoreNext()
    await next()
    context.res = deliver(delivery, context.res)
  }
  return undefined
}
