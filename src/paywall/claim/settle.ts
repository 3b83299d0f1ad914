/**
 * From a submitted transaction to a proof. Cheapest check first, and the sponsor signs only a correct payment:
 *
 * form → seal, route, binding → amount → simulation → sponsor's signature → record → send.
 *
 * After the record, no answer asks the client to pay again, unless the transaction can no longer land. The data of the
 * transaction is public once it has landed. So it is reserved for the request that submitted it while that request lasts,
 * and afterwards for the client that knows the claim secret of its challenge.
 */
import { decodeAddress, decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import { readClientAddress, unknownAddress } from '../../core/http/client-address.ts'
import type { Incoming } from '../../core/http/http.ts'
import { type Refusal, type RefusalCode, refusals, refuse } from '../../core/payment/refusals.ts'
import { routeOptions } from '../../core/payment/requirements.ts'
import { judge } from '../../core/payment/verify.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { SignedDraft } from '../../core/ports/payment-drafts.ts'
import { checkSubmitter, openSubmission, sealSubmission } from '../../core/ports/sealed-submission.ts'
import type {
  RecordedSubmission,
  Submission,
  SubmissionOpening,
  SubmittedTransaction,
} from '../../core/ports/sponsor.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import type { Credential, ForeignDialect, Reading, RefusalFacts } from '../../dialects/dialect.ts'
import { unsponsoredLimits } from '../config/sponsor.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import { type Admission, admit } from './admit.ts'
import { breaksRule, checkTime, findPurpose } from './check-submission.ts'
import type { Claim } from './verify-on-chain.ts'

/** How long a crashed server holds a payment for its request. The running one extends it. */
const holdMs = 6_000
const resendMs = 2_000
/** The client's blockhash can be younger than the known one, by a blockhash's lifetime at most. */
const youngerSlots = 150

/** A request in another protocol. */
export interface ForeignRequest {
  readonly routeRuntime: RouteRuntime
  readonly incoming: Incoming
  readonly via: ForeignDialect | undefined
}

export type SettledOutcome =
  | { readonly kind: 'settled'; readonly claim: Claim; readonly admission: Admission }
  /** The facts are those that the client may learn. */
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly facts: RefusalFacts }

/** Settles the payment of a request, and takes a grant for it. */
export async function settlePayment(
  request: ForeignRequest,
  reading: Exclude<Reading, { kind: 'proof' | 'malformed' | 'refused' }>,
): Promise<SettledOutcome> {
  if (reading.kind === 'signature') return settleSent(request, reading)
  const submission = await submitTransaction(request.routeRuntime, request.incoming, reading.credential)
  if (submission.kind === 'refused') return submission
  const { proof } = submission.submitted
  const claim: Claim = { ...request, proof }
  const stop = followTransaction(request.routeRuntime, submission.submitted)
  const admission = await admit(claim).finally(stop)
  await recordOutcome(request.routeRuntime, submission.submitted, admission)
  if (admission.kind === 'admitted') return { kind: 'settled', claim, admission }
  const { tx, requestId, payer } = proof
  const refusal = unseen.includes(admission.code)
    ? await refusePending(request.routeRuntime, submission.submitted)
    : admission
  return { kind: 'refused', refusal, facts: { tx, requestId, payer } }
}

/** A transaction that can no longer land is over, and its client may pay again. */
async function refusePending({ runtime }: RouteRuntime, { proof, signed }: Submitted): Promise<Refusal> {
  if ((await runtime.submitter.readState(signed)) !== 'expired') return refuse('settlement_pending')
  try {
    await runtime.ledger.submissions.close(proof.txBytes, 'expired', 0n)
    return refuse('quote_expired')
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return refuse('settlement_pending')
  }
}

/** The transaction was sent, but no node has confirmed it yet. */
const unseen: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final']

/** A transaction with an outcome frees its payer for the next one. */
async function recordOutcome(
  { runtime }: RouteRuntime,
  { proof, lamports }: Submitted,
  admission: Admission | Refusal,
): Promise<void> {
  const { submissions } = runtime.ledger
  try {
    if (admission.kind === 'admitted') {
      if (admission.first) await submissions.close(proof.txBytes, 'landed', lamports)
    } else if (admission.code === 'tx_failed') await submissions.close(proof.txBytes, 'failed', lamports)
    else if (unseen.includes(admission.code)) await submissions.hold(proof.txBytes, 0)
  } catch (error) {
    // The worker records it later.
    if (!(error instanceof LedgerUnavailable)) throw error
  }
}

/** A transaction that the client has sent itself. Its payer is the wallet that the chain names. */
async function settleSent(
  request: ForeignRequest,
  { tx, requestId, claim: secret }: Extract<Reading, { kind: 'signature' }>,
): Promise<SettledOutcome> {
  const { runtime, route } = request.routeRuntime
  const facts = { requestId, tx }
  const txBytes = decodeSignature(tx)
  const opened = openRequest(requestId)
  const recognition = opened && runtime.recognise(opened)
  if (!txBytes || !opened || recognition?.kind !== 'sealed')
    return { kind: 'refused', refusal: refuse('unknown_request'), facts }
  const { incoming } = request
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const visit = runtime.rateLimit.enter(address, requestId)
  if (!visit) return { kind: 'refused', refusal: refuse('rate_limited'), facts }
  const { isDoubtful } = visit
  const reading = await runtime.chain.read(tx, route.config.waitMs, { isDoubtful }).catch(() => undefined)
  visit.leave(reading?.kind === 'found')
  if (reading?.kind !== 'found')
    return {
      kind: 'refused',
      refusal: refuse(reading?.kind === 'missing' ? 'tx_not_found' : 'chain_unavailable'),
      facts,
    }
  const { recipient } = recognition
  const options = await routeOptions(request.routeRuntime, opened.amounts, recipient)
  const verdict = judge(reading.effect, { requestId, recipient, options })
  if (verdict.kind === 'refused') return { kind: 'refused', refusal: verdict, facts }
  const { payer } = verdict.kind === 'late' ? verdict.paid : verdict
  // Not `via`: the service did not send it, so it is judged like any proof.
  const { via, ...own } = request
  const claim: Claim = { ...own, proof: createProof(tx, requestId, payer, secret) }
  const admission = await admit(claim)
  if (admission.kind === 'admitted') return { kind: 'settled', claim: { ...claim, via }, admission }
  return { kind: 'refused', refusal: admission, facts }
}

/** A transaction that was recorded, and sent or about to be sent. */
interface Submitted {
  readonly proof: Proof
  readonly signed: SignedDraft
  readonly lamports: bigint
}

type SubmissionResult =
  | { readonly kind: 'submitted'; readonly submitted: Submitted }
  /** `tx` is a fact only of a transaction that was recorded and may have been sent: it is the sponsor's signature. */
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly facts: RefusalFacts }

/** Checks, records and sends the transaction of a credential, within the client's rate limit. */
async function submitTransaction(routeRuntime: RouteRuntime, incoming: Incoming, credential: Credential) {
  const { runtime, route, sponsor } = routeRuntime
  const reading = runtime.submitter.read(credential.transaction, sponsor?.current()?.address)
  if (reading.kind === 'invalid') return refused(breaksRule(reading.why))
  const { transaction } = reading
  const { requestId } = credential
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const visit = runtime.rateLimit.enter(address, requestId ?? encodeBase58(transaction.message))
  if (!visit) return refused(refuse('rate_limited'), { requestId })
  let submission: SubmissionResult | undefined
  try {
    submission = await submitChecked(routeRuntime, incoming, { credential, transaction, address })
    return submission
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    runtime.log.error('ledger.unavailable', { why: error.message })
    return refused(refuse('ledger_unavailable'), { requestId })
  } finally {
    visit.leave(!submission || isUseful(submission))
  }
}

interface ReadSubmission {
  readonly credential: Credential
  readonly transaction: SubmittedTransaction
  /** The client's address. */
  readonly address: string
}

/** A repetition, and an outage, are not the client's fault. */
function isUseful(submission: SubmissionResult): boolean {
  if (submission.kind === 'submitted') return true
  const { status } = refusals[submission.refusal.code]
  return status === 409 || status === 503
}

function refused(refusal: Refusal, facts: RefusalFacts = {}): SubmissionResult {
  return { kind: 'refused', refusal, facts }
}

async function submitChecked(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  { credential, transaction, address }: ReadSubmission,
): Promise<SubmissionResult> {
  const { runtime } = routeRuntime
  const { payer } = transaction
  const purpose = await findPurpose(routeRuntime, incoming, credential, transaction)
  if (purpose.kind === 'refused') return refused(purpose, { requestId: credential.requestId, payer })
  const { requestId, request } = purpose
  const { claim } = credential
  const facts = { requestId, payer }
  const known = await runtime.ledger.submissions.findMessage(transaction.message)
  if (known) return continueKnown(routeRuntime, known, facts, claim)
  const untimely = await checkTime(routeRuntime, request, transaction)
  if (untimely) {
    // Meanwhile, another request may have sent the same transaction.
    const sent = await runtime.ledger.submissions.findMessage(transaction.message)
    return sent ? continueKnown(routeRuntime, sent, facts, claim) : refused(untimely, facts)
  }
  const signed = await completeSignature(routeRuntime, transaction)
  if ('kind' in signed) return refused(signed, facts)
  const lamports = transaction.feePayer === payer ? 0n : transaction.fee
  const submitted = { proof: createProof(signed.signature, requestId, payer, claim), signed, lamports }
  const { submissions } = runtime.ledger
  const submission = describeSubmission(runtime, transaction, submitted, address)
  const opening = await submissions.open(submission, routeRuntime.route.config.sponsor?.limits ?? unsponsoredLimits)
  if (opening.kind === 'known') return continueKnown(routeRuntime, opening, facts, claim)
  if (opening.kind !== 'opened') return refused(refuseOpening(routeRuntime, opening), facts)
  const stop = followTransaction(routeRuntime, submitted)
  const posting = await runtime.submitter.send(signed).finally(stop)
  if (posting.kind !== 'rejected') return { kind: 'submitted', submitted }
  // The record stays open, because the node may have forwarded the transaction all the same.
  runtime.log.warn('submission.rejected', { tx: signed.signature, why: posting.why })
  await submissions.hold(submission.tx, 0)
  return refused(refuse('settlement_pending'), facts)
}

/**
 * The same transaction came before. It may have landed since, so the chain decides. The stored signature counts: a
 * signer may produce another one for the same message.
 */
async function continueKnown(
  { runtime }: RouteRuntime,
  { submission, outcome }: RecordedSubmission,
  facts: { readonly requestId: string; readonly payer: string },
  claim: string | undefined,
): Promise<SubmissionResult> {
  const tx = encodeBase58(submission.tx)
  const sealed = openSubmission(runtime.sealer, submission.sealed, tx)
  if (sealed?.requestId !== facts.requestId) return refused(refuse('payment_replay'), facts)
  const other = checkSubmitter(sealed, claim)
  if (other) return refused(other, facts)
  if (outcome === 'failed') return refused(refuse('tx_failed'), facts)
  if (outcome === 'expired') return refused(refuse('quote_expired'), facts)
  const now = runtime.clock.now()
  if (outcome === undefined && submission.heldUntil > now) return refused(refuse('payment_in_progress'), facts)
  const submitted = {
    proof: createProof(tx, facts.requestId, facts.payer, claim),
    signed: sealed,
    lamports: submission.lamports,
  }
  if (outcome === undefined) {
    await runtime.ledger.submissions.hold(submission.tx, now + holdMs)
    await runtime.submitter.send(sealed)
  }
  return { kind: 'submitted', submitted }
}

function createProof(tx: string, requestId: string, payer: string, claim: string | undefined): Proof {
  const [txBytes = new Uint8Array(), payerBytes = new Uint8Array()] = [decodeSignature(tx), decodeAddress(payer)]
  return { tx, txBytes, requestId, payer, payerBytes, ...(claim !== undefined && { claim }) }
}

function describeSubmission(
  { clock, pseudonyms, sealer }: RouteRuntime['runtime'],
  { message }: SubmittedTransaction,
  { proof, signed, lamports }: Submitted,
  address: string,
): Submission {
  const now = clock.now()
  const { requestId, claim, txBytes, payerBytes } = proof
  return {
    tx: txBytes,
    message,
    request: pseudonyms.request(requestId),
    payer: pseudonyms.wallet(payerBytes),
    client: address === unknownAddress ? '' : pseudonyms.request(`client ${address}`),
    sealed: sealSubmission(sealer, { requestId, claim, ...signed }),
    slot: signed.slot,
    lamports,
    heldUntil: now + holdMs,
    at: now,
  }
}

/** The complete transaction: with the sponsor's signature, or as the payer signed it. */
async function completeSignature({ runtime, sponsor }: RouteRuntime, transaction: SubmittedTransaction) {
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

function refuseOpening(
  { runtime, sponsor }: RouteRuntime,
  opening: Extract<SubmissionOpening, { kind: 'other' | 'exceeded' }>,
): Refusal {
  if (opening.kind === 'other')
    return opening.of === 'request'
      ? refuse('payment_in_progress')
      : refuse('rate_limited', { detail: 'Another payment of this wallet is not confirmed yet.', retryAfterSeconds: 1 })
  if (opening.limit === 'payer' || opening.limit === 'client')
    return refuse('rate_limited', { detail: 'Too many payments of this client failed.' })
  if (sponsor?.isOffering()) runtime.log.warn('sponsor.limit_reached', { limit: opening.limit })
  sponsor?.rest(opening.limit)
  return refuse('sponsor_exhausted')
}

/** Sends it again from time to time, and keeps it reserved for this request. The returned function ends that. */
function followTransaction({ runtime }: RouteRuntime, { proof, signed }: Submitted): () => void {
  const { submitter, ledger, clock, log } = runtime
  const timer = setInterval(() => {
    ledger.submissions
      .hold(proof.txBytes, clock.now() + holdMs)
      .catch((error) => log.error('ledger.unavailable', { why: String(error) }))
    void submitter.send(signed)
  }, resendMs)
  timer.unref?.()
  return () => clearInterval(timer)
}
