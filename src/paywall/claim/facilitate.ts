/**
 * Settles payments that x402 clients make to other servers: the service is their facilitator.
 *
 * The checks, the sponsor, its limits and the record are those of the service's own sales. Only the purpose differs: the
 * payment request comes from the calling server, so the recipient must be on the operator's list. A settled payment is
 * reported as a success once, because the calling server delivers after every success that it hears of.
 */
import { decodeSignature, encodeBase58 } from '../../core/encoding/base58.ts'
import { type Mint, type MintTable, type TokenCode, token2022Program } from '../../core/money/tokens.ts'
import { computeGross } from '../../core/money/transfer-fee.ts'
import { type Refusal, type RefusalCode, refuse } from '../../core/payment/refusals.ts'
import { computeCredit, type Effect } from '../../core/payment/verify.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { openSubmission } from '../../core/ports/sealed-submission.ts'
import type { RecordedSubmission, SubmittedTransaction } from '../../core/ports/sponsor.ts'
import { findReason } from '../../dialects/foreign.ts'
import { reasons } from '../../dialects/x402.ts'
import type { FacilitatorConfig } from '../config/facilitator.ts'
import { isTooLow } from '../quote/offers.ts'
import { createRateLimit, type RateLimit } from '../runtime/rate-limit.ts'
import type { Rates, Runtime, SponsorHandle } from '../runtime/runtime.ts'
import { breaksRule, tryTransaction } from './check-submission.ts'
import { isReported, isReportedTo, reportOnce } from './report-success.ts'
import type { SentTransaction } from './submit.ts'
import {
  completeSignature,
  describeSubmission,
  followTransaction,
  isClientsFault,
  isExpired,
  nameFacilitated,
  otherIsOpen,
  refuseOpening,
  sendRecorded,
  waitForOther,
} from './submit.ts'

/** The time for which a settlement waits for the chain. Callers wait for up to 90 s. */
const waitMs = 20_000
/** A payment waits for the payer's other ones for this time. */
const turnMs = 10_000
/** The caller is a server, and brings the payments of all its clients. */
const callerLimits = { perAddress: { most: 600, secondsEach: 0.1 }, mostAtOnce: 512 }

/** A transaction, and the payment that the calling server requires. */
export interface FacilitatedPayment {
  readonly transaction: Uint8Array
  readonly payTo: string
  /** The mint. */
  readonly asset: string
  readonly units: bigint
  /** The wallet that the calling server named to its client as fee payer. */
  readonly feePayer: string | undefined
  /** The memo that the calling server requires, if any. */
  readonly memo: string | undefined
}

export interface FacilitatorCall {
  readonly payment: FacilitatedPayment
  /** The address of the calling server. */
  readonly address: string
  /** Names one attempt to sell. Calls with the same key get the same answer. */
  readonly key?: string | undefined
}

export type FacilitatorAnswer =
  | { readonly kind: 'valid'; readonly payer: string }
  | { readonly kind: 'settled'; readonly payer: string; readonly tx: string }
  /** `tx` is a fact only of a transaction that was recorded and may have been sent. */
  | {
      readonly kind: 'refused'
      readonly refusal: Refusal
      readonly payer?: string | undefined
      readonly tx?: string | undefined
    }

export interface Facilitator {
  /** Resolves when the key of its sponsor is open, or this failed. */
  ready(): Promise<void>
  /** Why it cannot be used, as a sentence for the operator. */
  problem(): string | undefined
  /** The wallet that pays the network fees. Undefined if it cannot be used. */
  feePayer(): string | undefined
  /** Changes nothing. */
  verify(call: FacilitatorCall): Promise<FacilitatorAnswer>
  settle(call: FacilitatorCall): Promise<FacilitatorAnswer>
}

export interface FacilitatorParts {
  readonly runtime: Runtime
  readonly config: FacilitatorConfig
  readonly mints: () => MintTable
  readonly rates: Pick<Rates, 'current'>
}

interface OpenFacilitator extends FacilitatorParts {
  readonly sponsor: SponsorHandle
  readonly rateLimit: RateLimit
}

export function createFacilitator(parts: FacilitatorParts): Facilitator {
  const { runtime, config } = parts
  const { payTo } = config
  const sponsor = runtime.openSponsor(config.sponsor, { recipients: payTo })
  const rateLimit = createRateLimit(runtime.openLimits(), 'facilitator', callerLimits)
  const open: OpenFacilitator = { ...parts, sponsor, rateLimit }
  const isReady = Promise.all([sponsor.ready(), runtime.submitter.start(), ...payTo.map(runtime.prepareRecipient)])
  return {
    ready: async () => void (await isReady),
    problem: sponsor.problem,
    feePayer: () => sponsor.current()?.address,
    verify: (call) => answerWithin(open, call, verifyPayment),
    settle: (call) => answerWithin(open, call, settlePayment),
  }
}

type Answering = (
  parts: OpenFacilitator,
  transaction: SubmittedTransaction,
  call: FacilitatorCall,
) => Promise<FacilitatorAnswer>

/** Checks the form, which costs no request, and answers within the caller's rate limit. */
async function answerWithin(
  parts: OpenFacilitator,
  call: FacilitatorCall,
  answering: Answering,
): Promise<FacilitatorAnswer> {
  const checked = await checkForm(parts, call.payment)
  if (checked.kind === 'refused') return { kind: 'refused', refusal: checked }
  const { transaction } = checked
  const { payer } = transaction
  const visit = await parts.rateLimit.enter(call.address, payer)
  if (!visit) return { kind: 'refused', refusal: refuse('rate_limited'), payer }
  let answer: FacilitatorAnswer | undefined
  try {
    answer = await answering(parts, transaction, call)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    parts.runtime.log.error('ledger.unavailable', { why: error.message })
    answer = { kind: 'refused', refusal: refuse('ledger_unavailable') }
  } finally {
    visit.leave(answer?.kind !== 'refused' || !isClientsFault(answer.refusal))
  }
  return { ...answer, payer }
}

type Form = { readonly kind: 'checked'; readonly transaction: SubmittedTransaction } | Refusal

/** Whether the transaction is the required transfer and nothing else, to a listed recipient. */
async function checkForm(parts: OpenFacilitator, payment: FacilitatedPayment): Promise<Form> {
  const { runtime, sponsor, config } = parts
  const { payTo, asset, units, memo } = payment
  if (!config.payTo.includes(payTo))
    return refuse('wrong_recipient', { detail: 'This facilitator settles no payments to that recipient.' })
  const mints = parts.mints()
  const { token, mint } = findToken(mints, asset)
  if (token === undefined || !mint)
    return refuse('wrong_mint', { detail: 'This facilitator settles no payments in that token.' })
  const feePayer = sponsor.current()?.address
  if (feePayer === undefined) return refuse('sponsor_exhausted')
  const reading = runtime.submitter.read(payment.transaction, feePayer)
  if (reading.kind === 'invalid') return breaksRule(reading.why)
  const { transaction } = reading
  if (transaction.feePayer !== feePayer || payment.feePayer !== feePayer) return breaksRule('fee_payer')
  if (transaction.payer === payTo) return refuse('self_payment')
  const [transfer, ...others] = transaction.transfers
  if (!transfer || others.length > 0) return breaksRule('one_transfer')
  if (transaction.memos.length > 1) return breaksRule('one_memo')
  if (transfer.asset !== asset) return refuse('wrong_mint')
  if (transfer.destination !== (await runtime.tokenAccountOf(payTo, mint))) return refuse('wrong_destination')
  if (transfer.units !== units)
    return refuse('underpaid', { detail: 'The transfer must have exactly the required amount.' })
  if (memo !== undefined && transaction.memos[0] !== writeMemo(memo)) return refuse('memo_mismatch')
  const price = { token, units, decimals: mint.decimals }
  const isLow = isTooLow(price, config.sponsor.leastPrice, mints, parts.rates.current())
  // The payer chooses the amount. On test networks, the fees have no worth.
  if (isLow === undefined && runtime.config.network === 'mainnet')
    return refuse('not_priced', { detail: 'The rate of SOL is unknown, so the worth of the amount is, too.' })
  if (isLow) return refuse('transaction_invalid', { detail: 'The amount is too low for a sponsored payment.' })
  return { kind: 'checked', transaction }
}

function findToken(mints: MintTable, asset: string): { readonly token?: TokenCode; readonly mint?: Mint } {
  const [token, mint] = Object.entries(mints).find(([, one]) => one?.address === asset) ?? []
  return token === undefined || !mint ? {} : { token, mint }
}

/** A memo as it is read from a transaction: one character for each byte. */
function writeMemo(memo: string): string {
  return String.fromCharCode(...new TextEncoder().encode(memo))
}

async function verifyPayment(
  parts: OpenFacilitator,
  transaction: SubmittedTransaction,
  { payment }: FacilitatorCall,
): Promise<FacilitatorAnswer> {
  const { runtime } = parts
  const { payer } = transaction
  const known = await runtime.ledger.submissions.findMessage(transaction.message)
  const refusal = known
    ? ((await judgeKnown(runtime, known)) ?? (await checkLanding(runtime, known)))
    : await checkNew(parts, transaction, payment)
  return refusal ? { kind: 'refused', refusal } : { kind: 'valid', payer }
}

/** A payment that was sent before is valid until its success was reported. */
async function judgeKnown(runtime: Runtime, { submission, outcome }: RecordedSubmission): Promise<Refusal | undefined> {
  const tx = encodeBase58(submission.tx)
  const sealed = openSubmission(runtime.sealer, submission.sealed, tx)
  // It pays for a route of this service.
  if (!sealed || sealed.requestId !== undefined) return refuse('payment_replay')
  if (outcome === 'failed') return refuse('tx_failed')
  if (outcome === 'expired') return refuse('payment_expired')
  return (await isReported(runtime, tx, submission.at)) ? refuse('payment_replay') : undefined
}

/** The caller works before it settles, so a transaction that has failed is not valid, although it can land on a fork. */
async function checkLanding({ chain }: Runtime, { submission, outcome }: RecordedSubmission) {
  if (outcome !== undefined) return undefined
  const reading = await chain.read(encodeBase58(submission.tx), 0)
  return reading.kind === 'found' && reading.effect.failed ? refuse('tx_failed') : undefined
}

/** Nothing is signed or recorded before this check, so a payer without funds costs nothing. */
async function checkNew(
  parts: OpenFacilitator,
  { bytes, signature }: SubmittedTransaction,
  payment: FacilitatedPayment,
): Promise<Refusal | undefined> {
  const { runtime, sponsor } = parts
  // It may have been sent already, as a payment for something else.
  if (signature !== undefined) return breaksRule('signed_by_fee_payer')
  if (!sponsor.isOffering()) return refuse('sponsor_exhausted')
  return (await checkFee(parts, payment)) ?? tryTransaction(runtime, bytes, refuse('payment_expired'))
}

/** The transfer has exactly the required amount, so a fee of the mint would be missing at the recipient. */
async function checkFee(parts: OpenFacilitator, { asset, payTo, units }: FacilitatedPayment) {
  const { token, mint } = findToken(parts.mints(), asset)
  if (token === undefined || mint?.tokenProgram !== token2022Program) return undefined
  const inspection = await parts.runtime.inspect({ recipient: payTo, mints: { [token]: mint } })
  if (inspection.kind === 'unknown') return refuse('chain_unavailable')
  const reading = inspection.tokens[token]?.mint
  if (reading?.kind !== 'mint') return refuse('wrong_mint')
  if (computeGross(units, reading.traits.fees) === units) return undefined
  return refuse('wrong_mint', { detail: 'The token takes a fee from the payment, so the amount would not arrive.' })
}

async function settlePayment(
  parts: OpenFacilitator,
  transaction: SubmittedTransaction,
  call: FacilitatorCall,
): Promise<FacilitatorAnswer> {
  const until = parts.runtime.clock.monotonic() + turnMs
  const turn = await parts.runtime.payerTurns.take(transaction.payer)
  if (!turn) return { kind: 'refused', refusal: otherIsOpen }
  let recorded: Promise<void> = Promise.resolve()
  try {
    const sending = await sendPayment(parts, transaction, call, until)
    if (sending.kind !== 'sent') return sending
    const conclusion = await concludePayment(parts.runtime, transaction, sending.sent, call)
    recorded = conclusion.recorded
    return conclusion.answer
  } finally {
    // The payer's next payment begins when the outcome of this one is recorded. The caller need not wait for it.
    void recorded.finally(turn)
  }
}

type PaymentSending = { readonly kind: 'sent'; readonly sent: SentTransaction } | FacilitatorAnswer

/** Records and sends the transaction, unless it was recorded before. */
async function sendPayment(
  parts: OpenFacilitator,
  transaction: SubmittedTransaction,
  call: FacilitatorCall,
  until: number,
): Promise<PaymentSending> {
  const { address, key, payment } = call
  const { runtime, config } = parts
  const { submissions } = runtime.ledger
  const known = await submissions.findMessage(transaction.message)
  if (known) return continueKnown(runtime, known, transaction, key)
  // After a long wait the caller may have given up, and would not deliver.
  if (runtime.clock.monotonic() > until) return { kind: 'refused', refusal: otherIsOpen }
  const wrong = await checkNew(parts, transaction, payment)
  if (wrong) {
    // Meanwhile, another server may have sent the same transaction.
    const other = await submissions.findMessage(transaction.message)
    return other ? continueKnown(runtime, other, transaction, key) : { kind: 'refused', refusal: wrong }
  }
  const signed = await completeSignature(parts, transaction)
  if ('kind' in signed) return { kind: 'refused', refusal: signed }
  const tx = signed.signature
  const sent = { tx: decodeSignature(tx) ?? new Uint8Array(), signed, lamports: transaction.fee }
  const request = runtime.pseudonyms.request(nameFacilitated(tx))
  const submission = describeSubmission(runtime, transaction, sent, { request, client: address })
  // The node then reports this payment and the next ones to the account as they land.
  for (const { destination } of transaction.transfers) runtime.chain.watch(destination)
  const opening = await submissions.open(submission, config.sponsor.limits)
  if (opening.kind === 'known') return continueKnown(runtime, opening, transaction, key)
  if (opening.kind === 'other') {
    // Another server settles another payment of the payer, who may spend the money there. So all checks are repeated.
    await waitForOther(runtime, transaction.payer, until)
    return sendPayment(parts, transaction, call, until)
  }
  if (opening.kind !== 'opened') return { kind: 'refused', refusal: refuseOpening(parts, opening) }
  const isSent = await sendRecorded(runtime, sent).catch(ignoreOutage)
  return isSent ? { kind: 'sent', sent } : { kind: 'refused', refusal: refuse('settlement_pending'), tx }
}

/** The same transaction came before. The stored bytes are sent again unless it has landed, and the chain decides. */
async function continueKnown(
  runtime: Runtime,
  known: RecordedSubmission,
  { payer }: SubmittedTransaction,
  key: string | undefined,
): Promise<PaymentSending> {
  const { submission, outcome } = known
  const tx = encodeBase58(submission.tx)
  const refusal = await judgeKnown(runtime, known)
  if (refusal?.code === 'payment_replay' && (await isReportedTo(runtime, tx, key)))
    return { kind: 'settled', payer, tx }
  const sealed = openSubmission(runtime.sealer, submission.sealed, tx)
  if (refusal || !sealed) return { kind: 'refused', refusal: refusal ?? refuse('payment_replay'), tx }
  if (outcome === undefined) await runtime.submitter.send(sealed)
  return { kind: 'sent', sent: { tx: submission.tx, signed: sealed, lamports: submission.lamports } }
}

interface Conclusion {
  readonly answer: FacilitatorAnswer
  /** Resolves when the ledger has the outcome. If this fails, the worker records it later. */
  readonly recorded: Promise<void>
}

/** Waits for the outcome of a recorded transaction. From here on, an outage leaves the outcome open. */
async function concludePayment(
  runtime: Runtime,
  { payer }: SubmittedTransaction,
  sent: SentTransaction,
  { key, payment: { payTo, asset, units } }: FacilitatorCall,
): Promise<Conclusion> {
  const { ledger, log, chain } = runtime
  const tx = sent.signed.signature
  let recorded: Promise<void> = Promise.resolve()
  const refused = (code: RefusalCode): Conclusion => {
    return { answer: { kind: 'refused', refusal: refuse(code), tx }, recorded }
  }
  try {
    const stop = followTransaction(runtime, sent)
    const isPaid = (effect: Effect): boolean => computeCredit(effect, payTo, asset, payer) >= units
    const isEnough = (effect: Effect): boolean => !effect.failed && isPaid(effect)
    const reading = await chain.read(tx, waitMs, { isEnough }).finally(stop)
    if (reading.kind !== 'found')
      return refused((await isExpired(runtime, sent)) ? 'payment_expired' : 'settlement_pending')
    // On another fork it can still land, so the worker records the failure when it is final.
    if (reading.effect.failed) return refused('tx_failed')
    recorded = ledger.submissions
      .close(sent.tx, 'landed', sent.lamports)
      .catch((error) => log.error('ledger.unavailable', { why: String(error) }))
    // For example, the account belongs to another wallet now, or the mint has introduced a fee.
    if (!isPaid(reading.effect)) return refused('underpaid')
    if ((await reportOnce(runtime, tx, key)) || (await isReportedTo(runtime, tx, key)))
      return { answer: { kind: 'settled', payer, tx }, recorded }
    return refused('payment_replay')
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    log.error('ledger.unavailable', { why: error.message })
    return refused('settlement_pending')
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof LedgerUnavailable)) throw error
}

/** The reason of a refusal, as in the reference implementation. */
export function nameReason(endpoint: 'verify' | 'settle', refusal: Refusal, tx: string | undefined): string {
  const unavailable = `unexpected_${endpoint}_error`
  return findReason({ ...reasons, unavailable }, refusal, { tx }) ?? refusal.code
}
