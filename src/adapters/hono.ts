/** Hono 4. On Node it watches the socket itself; on other runtimes the response's stream. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import type { RequestOutcome } from '../paywall/handle-request.ts'
import { readIncoming as incomingOfNode } from './bridge.ts'
import type { Lifecycle } from './lifecycle.ts'
import { withLifecycle } from './lifecycle.ts'
import { attachPass } from './node-response/metered-response.ts'
import { beginDelivery, createResponse, deliver, ignoreNext, readWebIncoming } from './web.ts'

export { drain } from './drain.ts'

/** What `@hono/node-server` puts into the environment. */
interface NodeBindings {
  readonly incoming?: IncomingMessage
  readonly outgoing?: ServerResponse
}

/**
 * Protects the routes it is mounted on.
 *
 * @example
 * app.get('/report', create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }), handler)
 */
export function create402Middleware(options: ProviderOptions): MiddlewareHandler & Lifecycle {
  const paywall = openPaywall(options)
  const middleware: MiddlewareHandler = (context, next) => {
    const { incoming } = (context.env ?? {}) as NodeBindings
    const { raw } = context.req
    const visit = incoming ? incomingOfNode(incoming, targetOf(raw.url), raw) : readWebIncoming(raw)
    const entry = paywall.enter(visit)
    if (entry instanceof Promise) return entry.then((decided) => proceed(decided, context, next))
    // At once, not as a promise: this is the path of every unpaid request, and the type does not know of it.
    return entry.kind === 'answer'
      ? (createResponse(entry) as unknown as Promise<Response>)
      : proceed(entry, context, next)
  }
  return withLifecycle(paywall, middleware)
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
