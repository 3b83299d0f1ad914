/**
 * Checks a submitted transaction before the sponsor signs it: the request that it pays for, the money that it moves, and
 * its time. Nothing is written here.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Incoming } from '../../core/http/http.ts'
import { decimalsIn } from '../../core/money/rates.ts'
import type { Amounts } from '../../core/money/tokens.ts'
import { computeGross, type TransferFee } from '../../core/money/transfer-fee.ts'
import { isOneRequest } from '../../core/payment/allowance.ts'
import { isMemoOf } from '../../core/payment/memo.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { routeOptions } from '../../core/payment/requirements.ts'
import { computeWhole, type PaymentOption } from '../../core/payment/verify.ts'
import { openSubmission } from '../../core/ports/sealed-submission.ts'
import type { SubmittedTransaction, SubmittedTransfer } from '../../core/ports/sponsor.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import type { Credential } from '../../dialects/dialect.ts'
import { isTooLow } from '../quote/offers.ts'
import type { Route } from '../quote/route.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** The quote that a submitted transaction pays. */
export type SubmissionPurpose =
  | { readonly kind: 'quoted'; readonly requestId: string; readonly request: OpenedRequest }
  | Refusal

/** Finds the quote that a transaction pays, and checks that it pays this request. */
export async function findPurpose(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  credential: Credential,
  transaction: SubmittedTransaction,
): Promise<SubmissionPurpose> {
  if (credential.isUnnamed) return findUnnamedPurpose(routeRuntime, incoming, transaction)
  const requestId = credential.requestId ?? transaction.memos[0] ?? ''
  if (openRequest(requestId) && !transaction.memos.some((memo) => isMemoOf(requestId, memo)))
    return refuse('memo_mismatch')
  return checkPurpose(routeRuntime, incoming, requestId, transaction)
}

/**
 * The transaction names no quote, so it gets one of this moment, and the record ties them together. It must lack the
 * sponsor's signature: then it cannot have been sent before, as a payment for something else.
 */
async function findUnnamedPurpose(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  transaction: SubmittedTransaction,
): Promise<SubmissionPurpose> {
  const { runtime } = routeRuntime
  const known = await runtime.ledger.submissions.findMessage(transaction.message)
  if (known) {
    const { tx, sealed } = known.submission
    const requestId = openSubmission(runtime.sealer, sealed, encodeBase58(tx))?.requestId
    if (requestId === undefined) return refuse('payment_replay')
    const purpose = await checkPurpose(routeRuntime, incoming, requestId, transaction)
    // Two equal payments with one blockhash are one transaction, which pays for the first request.
    return purpose.kind === 'refused' && purpose.code === 'binding_mismatch' ? refuse('payment_replay') : purpose
  }
  if (transaction.signature !== undefined) return breaksRule('fee_payer')
  const requestId = await quoteNow(routeRuntime, incoming)
  return typeof requestId === 'string' ? checkPurpose(routeRuntime, incoming, requestId, transaction) : requestId
}

/** The requestId of a new quote for this request. */
async function quoteNow({ runtime, route, probe }: RouteRuntime, incoming: Incoming): Promise<string | Refusal> {
  if (probe.state() !== 'good') return refuse('not_priced')
  try {
    const quoted = await route.quote(incoming)
    return quoted.kind === 'refused' ? quoted : quoted.requestId
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    runtime.log.error('price.failed', { target: incoming.target, why })
    return refuse('not_priced')
  }
}

async function checkPurpose(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  requestId: string,
  transaction: SubmittedTransaction,
): Promise<SubmissionPurpose> {
  const request = openRequest(requestId)
  if (!request) return refuse('unknown_request')
  const wrong = await checkPayment(routeRuntime, incoming, request, transaction)
  return wrong ?? { kind: 'quoted', requestId, request }
}

export function breaksRule(why: string): Refusal {
  return refuse('transaction_invalid', { detail: `The submitted transaction breaks the rule ${why}.` })
}

/** Whether it pays this request: its seal, its terms, and the money that it moves. */
async function checkPayment(
  { runtime, route, probe }: RouteRuntime,
  incoming: Incoming,
  request: OpenedRequest,
  { transfers, payer, memos }: SubmittedTransaction,
): Promise<Refusal | undefined> {
  const recognition = await runtime.identify(request)
  if (recognition.kind !== 'sealed') return refuse('unknown_request')
  const { recipient } = recognition
  if (request.proof !== 'bare' || !isOneRequest(request.allowance)) return refuse('claim_required')
  const terms = await route.findTerms(incoming, request, recipient)
  if (terms.kind === 'refused') return terms
  if (payer === recipient) return refuse('self_payment')
  if (recognition.splits.length === 0 && transfers.length > 1) return breaksRule('one_transfer')
  if (memos.length > 1) return breaksRule('one_memo')
  const options = await routeOptions({ runtime, route }, request.amounts, recognition)
  const option = options.find(({ asset }) => asset === transfers[0]?.asset)
  if (!option) return refuse('wrong_mint')
  return checkTransfers(option, probe.offered().get(option.token)?.fees ?? [], transfers, payer)
}

/** Whether the transaction consists of one transfer for each part of the price, or of one to a recipient that collects it. */
function checkTransfers(
  option: PaymentOption,
  fees: readonly TransferFee[],
  transfers: readonly SubmittedTransfer[],
  payer: string,
): Refusal | undefined {
  const { token, decimals, asset, units, destination, splits = [], isCollected } = option
  const isWhole = isCollected && transfers.length === 1
  const parts = isWhole ? [{ units: computeWhole(option), destination }] : [{ units, destination }, ...splits]
  if (splits.some(({ recipient }) => recipient === payer)) return refuse('self_payment')
  if (transfers.length !== parts.length) return breaksRule('one_transfer_per_part')
  if (transfers.some((transfer) => transfer.asset !== asset)) return refuse('wrong_mint')
  if (transfers.some((transfer) => !parts.some((part) => part.destination === transfer.destination)))
    return refuse('wrong_destination')
  const due = parts.map((part) => computeGross(part.units, fees) ?? part.units)
  const sent = parts.map((part) => transfers.find((one) => one.destination === part.destination)?.units ?? 0n)
  if (sent.every((one, index) => one >= (due[index] ?? 0n))) return undefined
  const [required, received] = [due, sent].map((all) => all.reduce((sum, one) => sum + one, 0n))
  return refuse('underpaid', { shortfall: { token, decimals, required: required ?? 0n, received: received ?? 0n } })
}

/**
 * Whether a new transaction is in time, is worth its fee and would succeed now. Nothing is signed or recorded before
 * this check, so a payer without funds costs nothing and blocks nothing.
 */
export async function checkNew(
  { runtime, route }: RouteRuntime,
  { issuedAt, ttlSeconds, amounts }: OpenedRequest,
  { bytes, signature, feePayer, payer }: SubmittedTransaction,
): Promise<Refusal | undefined> {
  // Anybody can send a complete transaction, so its client gets no new challenge.
  const expired = refuse(signature === undefined ? 'quote_expired' : 'payment_expired')
  if (Math.floor(runtime.clock.now() / 1000) > issuedAt + ttlSeconds) return expired
  if (feePayer !== payer && isUnprofitable(route, amounts))
    return refuse('transaction_invalid', { detail: 'The price is too low for a sponsored payment.' })
  return tryTransaction(runtime, bytes, expired)
}

/**
 * Whether a price is too low for the sponsor. The challenge of such a price does not name the sponsor, but the client
 * can. Rates may have changed since the challenge, so half of the least price is enough.
 */
function isUnprofitable({ config: { sponsor, mints }, rates }: Route, amounts: Amounts): boolean {
  const decimals = decimalsIn(mints)
  return Object.entries(amounts).some(
    ([token, units = 0n]) =>
      sponsor &&
      isTooLow({ token, units, decimals: decimals[token] ?? 0 }, sponsor.leastPrice / 2n, mints, rates.current()),
  )
}

/** Whether a transaction would succeed now. `expired` is the refusal of one whose blockhash has expired. */
export async function tryTransaction(
  { submitter, log }: Pick<Runtime, 'submitter' | 'log'>,
  bytes: Uint8Array,
  expired: Refusal,
): Promise<Refusal | undefined> {
  const trial = await submitter.simulate(bytes)
  if (trial.kind === 'succeeds') return undefined
  log.info('submission.refused', { why: trial.why })
  if (trial.kind === 'unavailable') return refuse('chain_unavailable')
  return trial.isStale
    ? expired
    : refuse('tx_failed', { detail: 'The transaction would fail, for example for lack of funds.' })
}
