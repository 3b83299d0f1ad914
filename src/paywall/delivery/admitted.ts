/** Marks a request as admitted, and keeps the facts of its payment for the handler. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'

/** The payment behind a response, for its handler. */
export interface PaymentFacts {
  readonly tx: string
  /** The pseudonyms of the requestId and of the payer. */
  readonly request: string
  readonly payer: string
  readonly token: TokenCode
  /** The received amount as a decimal, such as "0.01". */
  readonly amount: string
  /** The unit of the allowance. */
  readonly unit: Unit
  /** Whether the payment is for one request only. A repeated proof then asks for the same response again. */
  readonly isOnce: boolean
}

/** The mark is a property of the request. A WeakMap would keep the request alive until V8's next major collection. */
const mark = Symbol('paystile.admitted')

interface Mark {
  readonly by: RouteRuntime
  readonly facts: (() => PaymentFacts) | undefined
}

type Marked = { [mark]?: Mark }

/**
 * The route that admitted the request. If the same paywall is mounted twice, the second one must not treat the payment
 * as in use by another request.
 */
export function findAdmitting(request: object): RouteRuntime | undefined {
  return (request as Marked)[mark]?.by
}

export function markAdmitted(request: object, by: RouteRuntime, facts?: () => PaymentFacts): void {
  ;(request as Marked)[mark] = { by, facts }
}

/**
 * The payment of an admitted request, for its handler. Undefined for other requests.
 *
 * @example
 * app.get('/report', paid, (request, response) => response.json({ thanks: paymentOf(request)?.amount }))
 */
export function paymentOf(request: object): PaymentFacts | undefined {
  return (request as Marked)[mark]?.facts?.()
}
