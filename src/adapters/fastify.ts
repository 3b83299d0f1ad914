/** Fastify 5: a hook for the routes to protect. */
import type { onRequestHookHandler } from 'fastify'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import { enterNode, sendAnswer } from './bridge.ts'
import type { Lifecycle } from './lifecycle.ts'
import { withLifecycle } from './lifecycle.ts'
import { attachPass } from './node-response/metered-response.ts'

export { drain } from './drain.ts'

/**
 * Protects the routes it is an `onRequest` (or `preHandler`) hook of.
 *
 * @example
 * app.get('/report', { onRequest: create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }) }, handler)
 */
export function create402Middleware(options: ProviderOptions): onRequestHookHandler & Lifecycle {
  const paywall = openPaywall(options)
  const hook: onRequestHookHandler = (request, reply, done) => {
    enterNode(paywall, request.raw, request.originalUrl, {
      // Past Fastify's own sending, which costs more than our answer; what plugins have set so far goes with it.
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
  return withLifecycle(paywall, hook)
}
