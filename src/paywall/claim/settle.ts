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
import { readClientAddress } from '../../core/http/client-address.ts'
import type { Incoming } from '../../core/http/http.ts'
import { type Refusal, type RefusalCode, refuse } from '../../core/payment/refusals.ts'
import { routeOptions } from '../../core/payment/requirements.ts'
import { judge, type Quote } from '../../core/payment/verify.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { checkSubmitter, openSubmission } from '../../core/ports/sealed-submission.ts'
import type { RecordedSubmission, SubmittedTransaction } from '../../core/ports/sponsor.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import type { Credential, ForeignDialect, Reading, RefusalFacts } from '../../dialects/dialect.ts'
import { unsponsoredLimits } from '../config/sponsor.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import { type Admission, admit } from './admit.ts'
import { breaksRule, checkNew, findPurpose } from './check-submission.ts'
import {
  completeSignature,
  describeSubmission,
  followTransaction,
  holdMs,
  isClientsFault,
  isExpired,
  otherIsOpen,
  recordLater,
  refuseOpening,
  type SentTransaction,
  sendRecorded,
  turnPauseMs,
  waitForOther,
} from './submit.ts'
import { type Claim, readForQuote } from './verify-on-chain.ts'

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
  if (reading.kind === 'signature') return settleSentOrRefuse(request, reading)
  const submission = await submitTransaction(request.routeRuntime, request.incoming, reading.credential)
  if (submission.kind === 'refused') return submission
  const { proof, lamports, isNew } = submission.submitted
  const claim: Claim = { ...request, proof, lamports, isNew }
  const stop = followTransaction(request.routeRuntime.runtime, submission.submitted)
  const admission = await admitInTurn(request.routeRuntime, claim, submission).finally(stop)
  if (admission.kind === 'admitted') return { kind: 'settled', claim, admission }
  const { tx, requestId, payer } = proof
  const refusal = unseen.includes(admission.code)
    ? await refusePending(request.routeRuntime, submission.submitted)
    : admission
  return { kind: 'refused', refusal, facts: { tx, requestId, payer } }
}

/** The next payment of the payer begins when this one is recorded as landed, or its hold has ended. */
async function admitInTurn(routeRuntime: RouteRuntime, claim: Claim, { submitted, endTurn }: SubmittedInTurn) {
  try {
    const admission = await admit(claim)
    if (admission.kind !== 'admitted') await endHold(routeRuntime, submitted, admission)
    return admission
  } finally {
    endTurn()
  }
}

/** A transaction that can no longer land is over, and its client may pay again. */
async function refusePending({ runtime }: RouteRuntime, submitted: Submitted): Promise<Refusal> {
  return refuse((await isExpired(runtime, submitted)) ? 'quote_expired' : 'settlement_pending')
}

/** The transaction was sent, but no node has confirmed it yet. */
const unseen: readonly RefusalCode[] = ['tx_not_found', 'tx_not_final']

/**
 * Ends the hold of a payment that its request did not see land. The record stays open, also if the transaction failed:
 * on another fork it can still land. The worker closes the record when the outcome is final.
 */
async function endHold({ runtime }: RouteRuntime, { tx }: Submitted, { code }: Refusal): Promise<void> {
  if (code === 'tx_failed' || unseen.includes(code)) await recordLater(runtime.ledger.submissions.hold(tx, 0))
}

type SentReading = Extract<Reading, { kind: 'signature' }>

async function settleSentOrRefuse(request: ForeignRequest, reading: SentReading): Promise<SettledOutcome> {
  try {
    return await settleSent(request, reading)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    request.routeRuntime.runtime.log.error('ledger.unavailable', { why: error.message })
    const { requestId, tx } = reading
    return { kind: 'refused', refusal: refuse('ledger_unavailable'), facts: { requestId, tx } }
  }
}

/** A transaction that the client has sent itself. Its payer is the wallet that the chain names. */
async function settleSent(
  request: ForeignRequest,
  { tx, requestId, claim: secret }: SentReading,
): Promise<SettledOutcome> {
  const { runtime, route } = request.routeRuntime
  const facts = { requestId, tx }
  const txBytes = decodeSignature(tx)
  const opened = openRequest(requestId)
  const recognition = opened && (await runtime.identify(opened))
  if (!txBytes || !opened || recognition?.kind !== 'sealed')
    return { kind: 'refused', refusal: refuse('unknown_request'), facts }
  const { incoming } = request
  const { recipient } = recognition
  const quote = { requestId, recipient, options: await routeOptions(request.routeRuntime, opened.amounts, recognition) }
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const visit = await runtime.rateLimit.enter(address, requestId)
  if (!visit) return { kind: 'refused', refusal: refuse('rate_limited'), facts }
  const { isDoubtful } = visit
  const verdict = await judgeSent(request, tx, quote, isDoubtful)
  visit.leave(verdict.kind !== 'refused')
  if (verdict.kind === 'refused') return { kind: 'refused', refusal: verdict, facts }
  const { payer } = verdict.kind === 'late' ? verdict.paid : verdict
  // Not `via`: the service did not send it, so it is judged like any proof.
  const { via, ...own } = request
  const claim: Claim = { ...own, proof: createProof(tx, requestId, payer, secret) }
  const admission = await admit(claim)
  if (admission.kind === 'admitted') return { kind: 'settled', claim: { ...claim, via }, admission }
  return { kind: 'refused', refusal: admission, facts }
}

async function judgeSent({ routeRuntime }: ForeignRequest, tx: string, quote: Quote, isDoubtful: boolean) {
  const { runtime, route } = routeRuntime
  const { waitMs } = route.config
  const reading = await readForQuote(runtime.chain, tx, quote, { waitMs, isDoubtful }).catch(() => undefined)
  if (reading?.kind !== 'found') return refuse(reading?.kind === 'missing' ? 'tx_not_found' : 'chain_unavailable')
  return judge(reading.effect, quote)
}

/** A transaction that was recorded, and sent or about to be sent. */
interface Submitted extends SentTransaction {
  readonly proof: Proof
  /** Recorded by this request, not by an earlier one. */
  readonly isNew: boolean
}

interface SubmittedInTurn {
  readonly kind: 'submitted'
  readonly submitted: Submitted
  /** Lets the next payment of the payer begin. */
  endTurn(): void
}

type SubmissionResult =
  | SubmittedInTurn
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
  const visit = await runtime.rateLimit.enter(address, requestId ?? encodeBase58(transaction.message))
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
    visit.leave(submission?.kind !== 'refused' || !isClientsFault(submission.refusal))
  }
}

interface ReadSubmission {
  readonly credential: Credential
  readonly transaction: SubmittedTransaction
  /** The client's address. */
  readonly address: string
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
  const found = await findPurpose(routeRuntime, incoming, credential, transaction)
  if (found.kind === 'refused') return refused(found, { requestId: credential.requestId, payer })
  const { requestId, request } = found
  const { claim } = credential
  const facts = { requestId, payer }
  // A repetition does not wait for the payer's turn: a reader of the chain could present it, too.
  const known = await runtime.ledger.submissions.findMessage(transaction.message)
  if (known) return continueKnown(routeRuntime, known, facts, claim)
  const until = runtime.clock.monotonic() + Math.max(routeRuntime.route.config.waitMs, turnPauseMs)
  const mustWait = !runtime.payerTurns.isFree(payer)
  const endTurn = await runtime.payerTurns.take(payer)
  if (!endTurn) return refused(otherIsOpen, facts)
  let result: SubmissionResult | undefined
  try {
    const payment = { requestId, request, claim, transaction, address }
    result = await submitInTurn(routeRuntime, payment, { until, hasWaited: mustWait })
    return result.kind === 'submitted' ? { ...result, endTurn } : result
  } finally {
    if (result?.kind !== 'submitted') endTurn()
  }
}

interface CheckedSubmission extends Pick<ReadSubmission, 'transaction' | 'address'> {
  readonly requestId: string
  readonly request: OpenedRequest
  readonly claim: string | undefined
}

/**
 * Waits while another server settles another payment of the same payer. The payer may have spent its money there, so each
 * attempt begins with the checks.
 */
async function submitInTurn(
  routeRuntime: RouteRuntime,
  payment: CheckedSubmission,
  { until, hasWaited }: { readonly until: number; readonly hasWaited: boolean },
): Promise<SubmissionResult> {
  const { requestId, transaction, claim } = payment
  const { clock, ledger } = routeRuntime.runtime
  const facts = { requestId, payer: transaction.payer }
  for (let mayBeSent = hasWaited; ; mayBeSent = true) {
    const sent = mayBeSent ? await ledger.submissions.findMessage(transaction.message) : undefined
    if (sent) return continueKnown(routeRuntime, sent, facts, claim)
    // After a long wait the client may have given up.
    if (clock.monotonic() > until) return refused(otherIsOpen, facts)
    const result = await submitNew(routeRuntime, payment)
    if (result !== 'later') return result
    await waitForOther(routeRuntime.runtime, transaction.payer, until)
  }
}

/** `later`: another transaction of the payer is open. */
async function submitNew(
  routeRuntime: RouteRuntime,
  { requestId, request, claim, transaction, address }: CheckedSubmission,
): Promise<SubmissionResult | 'later'> {
  const { runtime } = routeRuntime
  const { payer } = transaction
  const facts = { requestId, payer }
  const wrong = await checkNew(routeRuntime, request, transaction)
  if (wrong) {
    // Meanwhile, another request may have sent the same transaction.
    const sent = await runtime.ledger.submissions.findMessage(transaction.message)
    return sent ? continueKnown(routeRuntime, sent, facts, claim) : refused(wrong, facts)
  }
  const signed = await completeSignature(routeRuntime, transaction)
  if ('kind' in signed) return refused(signed, facts)
  const lamports = transaction.feePayer === payer ? 0n : transaction.fee
  const proof = createProof(signed.signature, requestId, payer, claim)
  const submitted = { proof, tx: proof.txBytes, signed, lamports, isNew: true }
  const purpose = { requestId, claim, request: runtime.pseudonyms.request(requestId), client: address }
  const submission = describeSubmission(runtime, transaction, submitted, purpose)
  const limits = routeRuntime.route.config.sponsor?.limits ?? unsponsoredLimits
  const opening = await runtime.ledger.submissions.open(submission, limits)
  if (opening.kind === 'known') return continueKnown(routeRuntime, opening, facts, claim)
  if (opening.kind === 'other' && opening.of === 'payer') return 'later'
  if (opening.kind !== 'opened') return refused(refuseOpening(routeRuntime, opening), facts)
  const isSent = await sendRecorded(runtime, submitted)
  return isSent ? { kind: 'submitted', submitted, endTurn: noTurn } : refused(refuse('settlement_pending'), facts)
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
    tx: submission.tx,
    signed: sealed,
    lamports: submission.lamports,
    isNew: false,
  }
  if (outcome === undefined) {
    await runtime.ledger.submissions.hold(submission.tx, now + holdMs)
    await runtime.submitter.send(sealed)
  }
  return { kind: 'submitted', submitted, endTurn: noTurn }
}

function noTurn(): void {}

function createProof(tx: string, requestId: string, payer: string, claim: string | undefined): Proof {
  const [txBytes = new Uint8Array(), payerBytes = new Uint8Array()] = [decodeSignature(tx), decodeAddress(payer)]
  return { tx, txBytes, requestId, payer, payerBytes, ...(claim !== undefined && { claim }) }
}
