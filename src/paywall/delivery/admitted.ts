/** The mark that an admission leaves on its request. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'

/** The payment behind a response, for its handler. */
export interface PaymentFacts {
  readonly tx: string
  /** The requestId's pseudonym, and the payer's. */
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  /** What was received, for people: "0.01". */
  readonly amount: string
  /** What the payment is counted in. */
  readonly unit: Unit
  /** Whether the payment is for this one request: whoever shows it again wants the same again, and not more. */
  readonly isOnce: boolean
}

/**
 * On the request itself: what stands in a WeakMap is kept by V8's small collections, and here it would keep the request,
 * too, until the next large one.
 */
const mark = Symbol('paystile.admitted')

interface Mark {
  readonly by: RouteRuntime
  readonly facts: (() => PaymentFacts) | undefined
}

type Marked = { [mark]?: Mark }

/** The route that let a request in: the same paywall mounted twice must not take the payment for a rival's. */
export function findAdmitting(request: object): RouteRuntime | undefined {
  return (request as Marked)[mark]?.by
}

export function markAdmitted(request: object, by: RouteRuntime, facts?: () => PaymentFacts): void {
  ;(request as Marked)[mark] = { by, facts }
}

/**
 * The payment behind a request that a paywall has let in, for its handler; undefined where there is none.
 *
 * @example
 * app.get('/report', paid, (request, response) => response.json({ thanks: paymentOf(request)?.amount }))
 */
export function paymentOf(request: object): PaymentFacts | undefined {
  return (request as Marked)[mark]?.facts?.()
}
