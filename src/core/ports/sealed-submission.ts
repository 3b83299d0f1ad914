/** The encrypted part of a submission's record: the requestId, and the transaction that can be sent again. */
import type { Sealer } from '../payouts/ports/outgoing.ts'
import type { SignedDraft } from './payment-drafts.ts'

export interface SealedSubmission extends SignedDraft {
  readonly requestId: string
}

export function sealSubmission(sealer: Sealer, submission: SealedSubmission): string {
  return sealer.seal(new TextEncoder().encode(JSON.stringify(submission)), submission.signature)
}

/** Undefined for text that another service sealed, or for another transaction. */
export function openSubmission(sealer: Sealer, text: string, signature: string): SealedSubmission | undefined {
  const bytes = sealer.open(text, signature)
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as SealedSubmission)
}
