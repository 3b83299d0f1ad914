/** From an admission to the pass of a response, and the mark that it leaves on its request. */
import { refuse } from '../../core/payment/refusals.ts'
import type { Grant } from '../../core/ports/ledger.ts'
import type { Admission } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import { corsHeaders } from '../quote/cors.ts'
import type { Gate, PaidDelivery } from './delivery-events.ts'
import { emitEnded, emitVerified, formatHeaders, isCrossOrigin, readFacts } from './delivery-events.ts'
import type { Pass, PaymentFacts } from './pass.ts'
import { openPass } from './pass.ts'
import type { ReceiptCache } from './window-cache.ts'
import { createReceiptCache } from './window-cache.ts'
import { openWindowPass } from './window-pass.ts'

/**
 * On the request itself: what stands in a WeakMap is kept by V8's small collections, and here it would keep the request,
 * too, until the next large one.
 */
const mark = Symbol('paystile.admitted')

interface Mark {
  readonly gate: Gate
  readonly facts: (() => PaymentFacts) | undefined
}

type Marked = { [mark]?: Mark }

/** Which paywall let a request in: the same one mounted twice must not take the payment for a rival's. */
export function findGate(request: object): Gate | undefined {
  return (request as Marked)[mark]?.gate
}

export function markAdmitted(request: object, gate: Gate, facts?: () => PaymentFacts): void {
  ;(request as Marked)[mark] = { gate, facts }
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

/** `said` is what was said of the same payment to the same request before. */
export function openPassFor(
  gate: Gate,
  claim: Claim,
  admission: Admission,
  receipts: ReceiptCache = createReceiptCache(),
): Pass {
  const paidDelivery: PaidDelivery = { gate, claim: claim, admission, receipts: receipts }
  emitVerified(paidDelivery)
  const pass = admission.grant ? openGrantPass(paidDelivery, admission.grant) : openWindowPass(paidDelivery)
  markAdmitted(claim.incoming.request, gate, pass.facts)
  return pass
}

function openGrantPass(paidDelivery: PaidDelivery, grant: Grant): Pass {
  const { gate, claim, admission } = paidDelivery
  const { runtime, route, incoming, proof } = claim
  const finished = gate.running.begin(() => pass.lose('the service is stopping'))
  const pass = openPass({
    admission,
    grant,
    method: incoming.method,
    envelope: route.config.envelope,
    ledger: runtime.ledger,
    clock: runtime.clock,
    log: runtime.log,
    leaseMs: route.config.leaseMs,
    facts: () => readFacts(paidDelivery),
    mismatch: () => {
      const answer = gate.dialect.refusal(refuse('range_mismatch'), proof.requestId)
      return { ...answer, headers: { ...answer.headers, ...(isCrossOrigin(claim) && corsHeaders) } }
    },
    headersFor: (status) => formatHeaders(paidDelivery, status),
    onEnd: (consequence, recorded) => {
      emitEnded(paidDelivery, consequence)
      runtime.ending.set(proof.tx, recorded)
      void recorded.finally(() => {
        if (runtime.ending.get(proof.tx) === recorded) runtime.ending.delete(proof.tx)
        runtime.changes.note(proof.tx)
        finished()
      })
    },
  })
  return pass
}
