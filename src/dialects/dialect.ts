/**
 * A dialect: how challenges, proofs and refusals look on the wire. The paywall knows none of them by name, so another
 * protocol's spelling of the same three things is one more module of this shape.
 */
import type { Answer, Incoming } from '../core/http/http.ts'
import type { Refusal } from '../core/payment/refusals.ts'
import type { ChallengeParts, Offer } from '../core/protocol/challenge.ts'
import type { ProofReading } from '../core/protocol/proof.ts'

export interface Dialect {
  /** Undefined when the request carries no proof in this dialect. */
  readProof(incoming: Incoming): ProofReading | undefined
  /** Prepares an offer once; the result answers every unpaid request. */
  prepare(offer: Offer): (parts: ChallengeParts) => Answer
  refusal(refusal: Refusal, requestId?: string): Answer
}
