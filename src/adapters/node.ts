/** Plain `node:http`: a function before the handler. */
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

type NodeHandler = (request: IncomingMessage, response: ServerResponse, next: () => unknown) => void

/**
 * One service for all routes of an application: `charge` for each route, `routes` for the service's own endpoints, and one
 * `close`.
 *
 * @example
 * const paystile = createPaystile({ recipient, network: 'localnet' })
 * const [routes, paid] = [paystile.routes(), paystile.charge({ price: 0.01 })]
 * createServer((request, response) =>
 *   routes(request, response, () => paid(request, response, () => response.end('the data'))),
 * )
 */
export function createPaystile(options: PaystileOptions = {}): Paystile<NodeHandler, NodeHandler> {
  return openPaystile(options, { protect, mount })
}

/**
 * `createPaystile(…).charge(…)` for one route, with all options in one object. Protects the responses of `next`.
 *
 * An exception or a rejected promise of `next` gets 502 `handler_failed`, and the payment is kept.
 *
 * @example
 * const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })
 * createServer((request, response) => paid(request, response, () => response.end('the data')))
 */
export function create402Middleware(options: ProviderOptions): NodeHandler & Lifecycle {
  const paywall = openPaywall(options)
  return withLifecycle(paywall, protect(paywall))
}

function protect(paywall: Paywall): NodeHandler {
  return (request, response, next) => {
    const fail = (error: unknown): void => {
      const answer = paywall.handlerFailed(error)
      if (response.writableEnded) return
      if (response.headersSent) response.destroy()
      else sendAnswer(response, answer)
    }
    enterNode(paywall, request, request.url ?? '/', {
      answer: (answer) => sendAnswer(response, answer),
      admit: (pass) => {
        if (attachPass(response, pass)) call(next, fail)
      },
      fail,
    })
  }
}

/** Most handlers return nothing, and need no promise. */
function call(handler: () => unknown, fail: (error: unknown) => void): void {
  try {
    const result = handler()
    if (typeof result === 'object' && result !== null && 'then' in result) Promise.resolve(result).catch(fail)
  } catch (error) {
    fail(error)
  }
}

function mount({ listener }: PaystileRoutes): NodeHandler {
  return (request, response, next) => listener(request, response, (error) => (error ? response.destroy() : next()))
}
