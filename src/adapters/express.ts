/** Express 4 and 5, and any other framework with Connect middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PaystileOptions } from '../api/factory-options.ts'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { enterNode, sendAnswer } from './bridge.ts'
import { openPaystile, type Paystile } from './factory.ts'
import { type Lifecycle, withLifecycle } from './lifecycle.ts'
import { attachPass } from './node-response/metered-response.ts'
import type { PaystileRoutes } from './routes.ts'

export { drain } from './drain.ts'
export { paymentOf } from './payment-of.ts'

type ConnectHandler = (
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * One service for all routes of an application: `charge` for each route, `routes` for the service's own endpoints, and one
 * `close`.
 *
 * @example
 * const paystile = createPaystile({ recipient, network: 'localnet' })
 * app.use(paystile.routes())
 * app.get('/report', paystile.charge({ price: 0.01 }), handler)
 */
export function createPaystile(options: PaystileOptions = {}): Paystile<ConnectHandler, ConnectHandler> {
  return openPaystile(options, { protect, mount })
}

/**
 * `createPaystile(…).charge(…)` for one route, with all options in one object. Works as `app.use(...)` and as a route handler.
 *
 * @example
 * app.get('/report', create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }), handler)
 */
export function create402Middleware(options: ProviderOptions): ConnectHandler & Lifecycle {
  const paywall = openPaywall(options)
  return withLifecycle(paywall, protect(paywall))
}

function protect(paywall: Paywall): ConnectHandler {
  return (request, response, next) => {
    enterNode(paywall, request, request.originalUrl ?? request.url ?? '/', {
      answer: (answer) => sendAnswer(response, answer),
      admit: (pass) => {
        if (attachPass(response, pass)) next()
      },
      fail: next,
    })
  }
}

function mount({ listener }: PaystileRoutes): ConnectHandler {
  return (request, response, next) => listener(request, response, next)
}
