/** Fastify 5: a hook for the routes to protect. */
import type { onRequestHookHandler } from 'fastify'
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

/**
 * One service for all routes of an application: `charge` for each route, `routes` for the service's own endpoints, and one
 * `close`.
 *
 * @example
 * const paystile = createPaystile({ recipient, network: 'localnet' })
 * app.addHook('onRequest', paystile.routes())
 * app.get('/report', { onRequest: paystile.charge({ price: 0.01 }) }, handler)
 */
export function createPaystile(options: PaystileOptions = {}): Paystile<onRequestHookHandler, onRequestHookHandler> {
  return openPaystile(options, { protect, mount })
}

/**
 * `createPaystile(…).charge(…)` for one route, with all options in one object: an `onRequest` or `preHandler` hook.
 *
 * @example
 * app.get('/report', { onRequest: create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }) }, handler)
 */
export function create402Middleware(options: ProviderOptions): onRequestHookHandler & Lifecycle {
  const paywall = openPaywall(options)
  return withLifecycle(paywall, protect(paywall))
}

function protect(paywall: Paywall): onRequestHookHandler {
  return (request, reply, done) => {
    enterNode(paywall, request.raw, request.originalUrl, {
      // Bypasses Fastify's own sending, which costs more than the response itself. Headers of plugins are included.
      answer: (answer) => {
        const set = reply.getHeaders()
        for (const name in set) reply.raw.setHeader(name, set[name] ?? '')
        reply.hijack()
        sendAnswer(reply.raw, answer)
      },
      admit: (pass) => {
        if (attachPass(reply.raw, pass)) done()
        else reply.hijack()
      },
      fail: (error) => done(error instanceof Error ? error : new Error(String(error))),
    })
  }
}

function mount({ owns, listener }: PaystileRoutes): onRequestHookHandler {
  return (request, reply, done) => {
    if (!owns(request.url.split('?', 1)[0] ?? '')) return done()
    reply.hijack()
    listener(request.raw, reply.raw)
  }
}
