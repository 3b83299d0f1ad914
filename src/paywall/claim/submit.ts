/**
 * Sends a transaction that a client of another protocol submitted: the sponsor's signature, the record with its limits,
 * sending, and the end of a transaction that never landed.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { unknownAddress } from '../../core/http/client-address.ts'
import { type Refusal, refusals, refuse } from '../../core/payment/refusals.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { SignedDraft } from '../../core/ports/payment-drafts.ts'
import { sealSubmission } from '../../core/ports/sealed-submission.ts'
import type { Submission, SubmissionOpening, SubmittedTransaction } from '../../core/ports/sponsor.ts'
import type { Runtime, SponsorHandle } from '../runtime/runtime.ts'

/** How long a crashed server holds a payment for its request. The running one extends it. */
export const holdMs = 6_000
const resendMs = 2_000
/** The client's blockhash can be younger than the known one, by a blockhash's lifetime at most. */
const youngerSlots = 150

export interface SponsoringParts {
  readonly runtime: Runtime
  /** Undefined if the service pays no network fees. */
  readonly sponsor: SponsorHandle | undefined
}

/** A transaction that was recorded, and sent or about to be sent. */
export interface SentTransaction {
  /** The 64 bytes of its first signature. */
  readonly tx: Uint8Array
  readonly signed: SignedDraft
  /** The fee that the sponsor pays. */
  readonly lamports: bigint
}

/** The purpose of a transaction, for its record. */
export interface SubmissionFor {
  /** Undefined if another server sold the resource. */
  readonly requestId?: string | undefined
  readonly claim?: string | undefined
  /** A pseudonym. While a transaction for it is open, no other one is sent. */
  readonly request: string
  /** The client's address. */
  readonly client: string
}

/** The name in place of a requestId, of a transaction that pays another server. */
export function nameFacilitated(tx: string): string {
  return `facilitated ${tx}`
}

/** The complete transaction: with the sponsor's signature, or as the payer signed it. */
export async function completeSignature(
  { runtime, sponsor }: SponsoringParts,
  transaction: SubmittedTransaction,
): Promise<SignedDraft | Refusal> {
  const recent = runtime.submitter.recent()
  if (!recent) return refuse('chain_unavailable')
  const slot = recent.slot + youngerSlots
  if (transaction.signature !== undefined)
    return { wire: runtime.encodeWire(transaction.bytes), signature: transaction.signature, slot }
  const signing = await sponsor?.current()?.sign(transaction)
  if (signing?.kind !== 'signed') {
    runtime.log.error('sponsor.sign_failed', { why: signing?.why ?? 'there is no sponsor' })
    return refuse('sponsor_exhausted')
  }
  return { wire: runtime.encodeWire(signing.wire), signature: signing.signature, slot }
}

export function describeSubmission(
  { clock, pseudonyms, sealer }: Pick<Runtime, 'clock' | 'pseudonyms' | 'sealer'>,
  { message, payer }: SubmittedTransaction,
  { tx, signed, lamports }: SentTransaction,
  { requestId, claim, request, client }: SubmissionFor,
): Submission {
  const now = clock.now()
  return {
    tx,
    message,
    request,
    payer: pseudonyms.wallet(decodeAddress(payer) ?? new Uint8Array()),
    client: client === unknownAddress ? '' : pseudonyms.request(`client ${client}`),
    sealed: sealSubmission(sealer, { requestId, claim, ...signed }),
    slot: signed.slot,
    lamports,
    heldUntil: now + holdMs,
    at: now,
  }
}

/** Sends a recorded transaction that was just simulated. False if the node refused it. */
export async function sendRecorded(runtime: Runtime, sent: SentTransaction): Promise<boolean> {
  const stop = followTransaction(runtime, sent)
  const posting = await runtime.submitter.send(sent.signed, { isSimulated: true }).finally(stop)
  if (posting.kind !== 'rejected') return true
  // The record stays open, because the node may have forwarded the transaction all the same.
  runtime.log.warn('submission.rejected', { tx: sent.signed.signature, why: posting.why })
  await runtime.ledger.submissions.hold(sent.tx, 0)
  return false
}

/** The pause before the next look whether another server has settled the other payment of a payer. */
export const turnPauseMs = 200

/** Waits while another transaction of a payer is open, at most until a time. This costs no request and no signature. */
export async function waitForOther(
  { ledger, clock, pseudonyms }: Pick<Runtime, 'ledger' | 'clock' | 'pseudonyms'>,
  payer: string,
  until: number,
): Promise<void> {
  const name = pseudonyms.wallet(decodeAddress(payer) ?? new Uint8Array())
  do await new Promise((resolve) => setTimeout(resolve, turnPauseMs))
  while (clock.monotonic() <= until && (await ledger.submissions.hasOpen(name)))
}

/** Each payer has one transaction under way. */
export const otherIsOpen = refuse('rate_limited', {
  detail: 'Another payment of this wallet is not confirmed yet.',
  retryAfterSeconds: 1,
})

export function refuseOpening(
  { runtime, sponsor }: SponsoringParts,
  opening: Extract<SubmissionOpening, { kind: 'other' | 'exceeded' }>,
): Refusal {
  if (opening.kind === 'other') return refuse('payment_in_progress')
  if (opening.limit === 'payer' || opening.limit === 'client')
    return refuse('rate_limited', { detail: 'Too many payments of this client failed.' })
  if (sponsor?.isOffering()) runtime.log.warn('sponsor.limit_reached', { limit: opening.limit })
  sponsor?.rest(opening.limit)
  return refuse('sponsor_exhausted')
}

/** Sends it again from time to time, and keeps it reserved for this request. The returned function ends that. */
export function followTransaction(
  { submitter, ledger, clock, log }: Pick<Runtime, 'submitter' | 'ledger' | 'clock' | 'log'>,
  { tx, signed }: SentTransaction,
): () => void {
  const timer = setInterval(() => {
    ledger.submissions
      .hold(tx, clock.now() + holdMs)
      .catch((error) => log.error('ledger.unavailable', { why: String(error) }))
    void submitter.send(signed)
  }, resendMs)
  timer.unref?.()
  return () => clearInterval(timer)
}

/** Whether a transaction that no node has confirmed can no longer land. Then its record is closed. */
export async function isExpired(
  { submitter, ledger }: Pick<Runtime, 'submitter' | 'ledger'>,
  { tx, signed }: SentTransaction,
): Promise<boolean> {
  if ((await submitter.readState(signed)) !== 'expired') return false
  try {
    await ledger.submissions.close(tx, 'expired', 0n)
    return true
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return false
  }
}

/** Waits for a write to the submissions. If it fails, the worker records the outcome later. */
export async function recordLater(writing: Promise<void>): Promise<void> {
  try {
    await writing
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
  }
}

/**
 * Whether a refusal counts against the client's rate limit. A repetition, an outage and a slow payment before this one
 * are not its fault.
 */
export function isClientsFault(refusal: Refusal): boolean {
  const { status } = refusals[refusal.code]
  return status !== 409 && status !== 503 && refusal !== otherIsOpen
}
