/** Express 4 and 5, and anything else that speaks Connect. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import { enterNode, sendAnswer } from './bridge.ts'
import type { Lifecycle } from './lifecycle.ts'
import { withLifecycle } from './lifecycle.ts'
import { attachPass } from './node-response/metered-response.ts'

export { drain } from './drain.ts'

type ConnectHandler = (
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Protects the routes it is mounted on. Works as `app.use(...)` and as a route handler.
 *
 * @example
 * app.get('/report', create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' }), handler)
 */
export function create402Middleware(options: ProviderOptions): ConnectHandler & Lifecycle {
  const paywall = openPaywall(options)
  const middleware: ConnectHandler = (request, response, next) => {
    enterNode(paywall, request, request.originalUrl ?? request.url ?? '/', {
      answer: (answer) => sendAnswer(response, answer),
      admit: (pass) => {
        if (attachPass(response, pass)) next()
      },
      fail: next,
    })
  }
  return withLifecycle(paywall, middleware)
}
