/** Plain `node:http`: stands in front of a handler. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openPaywall } from '../compose/paywall.ts'
import type { ProviderOptions } from '../paywall/config/options.ts'
import { enterNode, sendAnswer } from './bridge.ts'
import type { Lifecycle } from './lifecycle.ts'
import { withLifecycle } from './lifecycle.ts'
import { attachPass } from './node-response/metered-response.ts'

export { drain } from './drain.ts'

type NodeHandler = (request: IncomingMessage, response: ServerResponse, next: () => unknown) => void

/**
 * Protects what `next` serves.
 *
 * An exception or a rejected promise of `next` is answered 502 `handler_failed`, and the payment is kept.
 *
 * @example
 * const paid = create402Middleware({ price: 0.01, token: 'USDC', recipient, network: 'localnet' })
 * createServer((request, response) => paid(request, response, () => response.end('the data')))
 */
export function create402Middleware(options: ProviderOptions): NodeHandler & Lifecycle {
  const paywall = openPaywall(options)
  const middleware: NodeHandler = (request, response, next) => {
    const fail = (error: unknown): void => {
      const answer = paywall.handlerFailed(error)
      if (response.writableEnded) return
      if (response.headersSent) response.destroy()
      else sendAnswer(response, answer)
    }
    enterNode(paywall, request, request.url ?? '/', {
      answer: (answer) => sendAnswer(response, answer),
      admit: (pass) => {
        if (attachPass(response, pass)) new Promise((resolve) => resolve(next())).catch(fail)
      },
      fail,
    })
  }
  return withLifecycle(paywall, middleware)
}
