/**
 * The encrypted part of a submission's record: the requestId, the claim secret, and the transaction that can be sent
 * again.
 */
import { equalBytes } from '../encoding/hmac.ts'
import type { Refusal } from '../payment/refusals.ts'
import { refuse } from '../payment/refusals.ts'
import type { Sealer } from '../payouts/ports/outgoing.ts'
import { hashClaim } from '../protocol/proof.ts'
import type { SignedDraft } from './payment-drafts.ts'

export interface SealedSubmission extends SignedDraft {
  /** Undefined if another server sold the resource, and the service only settled the payment. */
  readonly requestId?: string | undefined
  /** Undefined if the credential had none. Then the payment is only reserved while its request lasts. */
  readonly claim?: string | undefined
}

export function sealSubmission(sealer: Sealer, submission: SealedSubmission): string {
  return sealer.seal(new TextEncoder().encode(JSON.stringify(submission)), submission.signature)
}

/** Undefined for text that another service sealed, or for another transaction. */
export function openSubmission(sealer: Sealer, text: string, signature: string): SealedSubmission | undefined {
  const bytes = sealer.open(text, signature)
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as SealedSubmission)
}

/**
 * Refuses everybody but the client that submitted the transaction. The chain shows the rest of a credential to all, but
 * not the claim.
 */
export function checkSubmitter({ claim }: SealedSubmission, given: string | undefined): Refusal | undefined {
  if (claim === undefined) return undefined
  if (given === undefined) return refuse('claim_required')
  return equalBytes(hashClaim(given), hashClaim(claim)) ? undefined : refuse('claim_invalid')
}
