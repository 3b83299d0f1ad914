/**
 * Turns a proof into a grant. Checks run from cheapest to dearest, and nothing is written before the last step.
 *
 * parse → seal, route, binding → claim → ledger peek → signature → chain → rules → one atomic take.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { parseRange } from '../../core/http/content-range.ts'
import { nameEndpoint } from '../../core/http/endpoint.ts'
import type { Incoming } from '../../core/http/http.ts'
import { decimalsIn, type FrozenRates } from '../../core/money/rates.ts'
import { computeValue } from '../../core/money/valuation.ts'
import { type Allowance, firstSlice, isOneRequest, sliceOfUses } from '../../core/payment/allowance.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { claimableUntil, paymentWindow, routeOptions } from '../../core/payment/requirements.ts'
import type { RecipientSet } from '../../core/payment/splits.ts'
import type { PaymentOption } from '../../core/payment/verify.ts'
import type { Grant, PaymentRecord, PaymentStatus, PaymentTerms, Take, Taken } from '../../core/ports/ledger.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { checkSubmitter, openSubmission } from '../../core/ports/sealed-submission.ts'
import type { Submission } from '../../core/ports/sponsor.ts'
import { hashClaim, type Proof, proofText } from '../../core/protocol/proof.ts'
import { type OpenedRequest, openRequest } from '../../core/protocol/request-id.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { notePending } from './observed-payments.ts'
import { recordLater } from './submit.ts'
import { type Claim, readForGrant, readPayment, readWithin } from './verify-on-chain.ts'

const signatureAgeSeconds = 300

/** A grant, and the facts of its payment. */
export interface Admission extends Pick<PaymentTerms, 'payer' | 'token' | 'received' | 'allowance' | 'usableUntil'> {
  readonly kind: 'admitted'
  /** Undefined inside an open time window: the ledger holds no part of it. */
  readonly grant: Grant | undefined
  /**
   * Start of the lease in monotonic milliseconds. Measured before the ledger call, so the lease never ends too late
   * here.
   */
  readonly takenAt: number
  /** The part of the price that the wallets of the splits received. */
  readonly passedOn: bigint
  /** The rest of the allowance, without the grant. */
  readonly remaining: bigint
  /** False if the ledger already knew the payment. */
  readonly first: boolean
  /** The pseudonym of the requestId. */
  readonly request: string
  /** Whether the same proof, method, address and origin pass all checks again, except those of the ledger. */
  readonly isRepeatable: boolean
}

/**
 * Decides whether a proof admits a request, and takes the grant if it does. `earlier` is a recent, repeatable admission
 * of the same proof and request.
 */
export function admit(claim: Claim, earlier?: Admission): Promise<Admission | Refusal> {
  const { runtime, route } = claim.routeRuntime
  const { clock, meter, trace } = runtime
  const askedAt = clock.monotonic()
  return trace.span('paystile.admit', { 'paystile.scope': route.config.scope }, async (note) => {
    const outcome = await decideOrRefuse(claim, earlier)
    note({ 'paystile.outcome': outcome.kind === 'refused' ? outcome.code : outcome.kind })
    meter.observe('paystile_proof_seconds', (clock.monotonic() - askedAt) / 1000)
    return outcome
  })
}

async function decideOrRefuse(claim: Claim, earlier: Admission | undefined): Promise<Admission | Refusal> {
  try {
    return (earlier && (await takeAgain(claim, earlier))) ?? (await decide(claim))
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    claim.routeRuntime.runtime.log.error('ledger.unavailable', { why: error.message })
    return refuse('ledger_unavailable')
  }
}

async function decide(claim: Claim): Promise<Admission | Refusal> {
  const { routeRuntime, proof } = claim
  const { runtime, route } = routeRuntime
  const request = openRequest(proof.requestId)
  if (!request) return refuse('unknown_request')
  const name = runtime.pseudonyms.request(proof.requestId)
  const recognised = runtime.recognise(request)
  const recognition = recognised.kind === 'forged' ? await runtime.identify(request) : recognised
  if (recognition.kind === 'forged') return refuse('unknown_request')
  const recipientSet = recognition.kind === 'sealed' ? recognition : undefined
  const found = await route.findTerms(claim.incoming, request, recipientSet?.recipient)
  // A response that just ended in this process counts as ended, even if the ledger is still recording its end.
  await runtime.ending.get(proof.tx)
  let status: PaymentStatus | undefined
  if (!recipientSet) {
    // A registered requestId was authentic at its registration, even if its key has been retired since.
    status = await runtime.ledger.peek(proof.txBytes)
    if (status?.request !== name) return refuse('unknown_request')
  }
  if (found.kind === 'refused') return found
  const mismatch = checkClaim(claim, request)
  if (mismatch) return mismatch
  // A payment that was recorded just now has no row yet. The take decides in any case.
  if (!claim.isNew) status ??= await runtime.ledger.peek(proof.txBytes)
  const known = status && judgeStatus(claim, status, name)
  const identity = { request: name, isRepeatable: isRepeatable(claim, request) && found.isByAddress }
  if (known?.kind === 'refused') return known
  const unsigned = checkSignature(claim, request)
  if (unsigned) return unsigned
  const submission = await findSubmission(claim, request)
  const other = submission && checkReservation(claim, submission)
  if (other) return other
  if (status && known?.kind === 'usable') {
    const passedOn = recipientSet ? computePassedOn(request, status) : 0n
    const recipientSets = recipientSet ? [recipientSet] : found.recipientSets
    return (await checkSigner(claim, request, recipientSets)) ?? take(claim, { ...status, passedOn, ...identity })
  }
  if (!recipientSet) return refuse('unknown_request')
  let isRegistered = false
  try {
    const admission = await register(claim, request, recipientSet, identity, status?.state === 'reverted', submission)
    isRegistered = admission.kind === 'admitted'
    return admission
  } finally {
    runtime.exposure.release(claim, proof.tx, isRegistered)
  }
}

/**
 * A bare proof may belong to a submission, and the chain names the wallets that may sign for a payer without a key. Both
 * are read for each request.
 */
export function isRepeatable({ proof, via }: Claim, request: Pick<OpenedRequest, 'proof'>): boolean {
  return !via && request.proof !== 'bare' && (proof.signer === undefined || proof.signer === proof.payer)
}

/**
 * Takes another grant of a bundle. The ledger checks the state of the payment. Undefined if it grants nothing: then the
 * whole decision gives the reason.
 */
async function takeAgain(claim: Claim, earlier: Admission): Promise<Admission | undefined> {
  if (!isCurrent(claim.routeRuntime.runtime, claim.proof)) return undefined
  const taken = await take(claim, earlier)
  return taken.kind === 'admitted' ? taken : undefined
}

function checkClaim({ routeRuntime, proof }: Claim, request: OpenedRequest): Refusal | undefined {
  const { runtime } = routeRuntime
  if (request.claimTag) {
    if (proof.claim === undefined) return refuse('claim_required')
    const tag = runtime.tags.claim(hashClaim(proof.claim))
    return equalBytes(tag, request.claimTag) ? undefined : refuse('claim_invalid')
  }
  if (request.proof !== 'sig') return undefined
  if (proof.sig === undefined || proof.ts === undefined) return refuse('signature_required')
  if (isRecent(runtime, proof.ts)) return undefined
  if (!runtime.clockCheck.isConfirmed()) return clockUnsure
  return refuse('signature_invalid', { detail: 'ts differs too much from the current time.' })
}

/** Only a clock that was compared with the chain a moment ago may refuse a payment for good. */
const clockUnsure = refuse('chain_unavailable', {
  detail: 'The clock of this server is wrong or was not checked recently. Try again later.',
})

/** Whether the signature of a proof is still valid, if the proof has one. */
export function isCurrent(runtime: Pick<Runtime, 'clock' | 'clockCheck'>, { ts }: Pick<Proof, 'ts'>): boolean {
  return ts === undefined || isRecent(runtime, ts)
}

/** Whether a signature of this second is still valid. */
function isRecent(runtime: Pick<Runtime, 'clock' | 'clockCheck'>, ts: number): boolean {
  return Math.abs(presentMs(runtime) / 1000 - ts) <= signatureAgeSeconds
}

const claimExpired = refuse('payment_expired', { detail: 'The time to claim this payment has ended.' })

/** A refusal that may be due to the time is retryable if `end` has passed only by a clock that is wrong or unchecked. */
function refuseAfter(runtime: Pick<Runtime, 'clock' | 'clockCheck'>, end: number, refusal: Refusal): Refusal {
  if (runtime.clock.now() < end) return refusal
  return presentMs(runtime) > end && runtime.clockCheck.isConfirmed() ? refusal : clockUnsure
}

/** The chain's time while this server's clock is wrong, because a wrong clock must not refuse a payment for good. */
function presentMs({ clock, clockCheck }: Pick<Runtime, 'clock' | 'clockCheck'>): number {
  return clock.now() - clockCheck.aheadMs()
}

type KnownPayment = { readonly kind: 'usable' } | { readonly kind: 'unregistered' } | Refusal

function judgeStatus({ routeRuntime, proof }: Claim, status: PaymentStatus, name: string): KnownPayment {
  if (status.state === 'late') return { kind: 'unregistered' }
  if (status.state === 'reverted' && status.request === name) return { kind: 'unregistered' }
  if (status.request !== name) return refuse('payment_replay')
  if (status.payer !== routeRuntime.runtime.pseudonyms.wallet(proof.payerBytes)) return refuse('payer_mismatch')
  if (status.state === 'spent') return refuseAfter(routeRuntime.runtime, status.usableUntil, refuse('payment_replay'))
  // A part of a large bundle may be in a slice that returns soon. The take waits for it.
  return status.state === 'busy' && !isSliced(status) ? refuse('payment_in_progress') : { kind: 'usable' }
}

/** Takes about 0.1 ms, so it runs after all cheaper checks and before the chain is read. */
function checkSignature({ routeRuntime, incoming, proof }: Claim, request: OpenedRequest): Refusal | undefined {
  if (request.proof !== 'sig' || proof.sig === undefined || proof.ts === undefined) return undefined
  const { runtime, route } = routeRuntime
  const { genesis } = runtime
  const key = decodeAddress(proof.signer ?? proof.payer) ?? new Uint8Array()
  const { tx, requestId, payer, ts, sig } = proof
  const signed = route.hasOrigin(incoming, (origin) =>
    runtime.verifier(key, proofText({ origin, genesis, tx, requestId, payer, ts }), sig),
  )
  return signed ? undefined : refuse('signature_invalid')
}

/**
 * The ledger knows the payer, but not the wallets that may sign for a payer without a key, so the chain is read again.
 * Without this check, any wallet could sign for the payer of a registered payment.
 */
async function checkSigner(claim: Claim, request: OpenedRequest, recipientSets: readonly RecipientSet[]) {
  const { signer, payer } = claim.proof
  if (request.proof !== 'sig' || signer === undefined || signer === payer) return undefined
  let refusal = refuse('payer_mismatch')
  for (const recipientSet of recipientSets) {
    const verdict = await readWithin(claim, await quoteFor(claim, request, recipientSet), readPayment)
    if (verdict.kind !== 'refused') return undefined
    refusal = verdict
  }
  return refusal
}

async function quoteFor({ routeRuntime, proof }: Claim, request: OpenedRequest, recipientSet: RecipientSet) {
  const options = await routeOptions(routeRuntime, request.amounts, recipientSet)
  return { requestId: proof.requestId, recipient: recipientSet.recipient, options, ...paymentWindow(request) }
}

/** The part of a paid price that the wallets of the splits received. */
function computePassedOn({ amounts }: OpenedRequest, { token, required }: Pick<PaymentTerms, 'token' | 'required'>) {
  return (amounts[token] ?? required) - required
}

async function register(
  claim: Claim,
  request: OpenedRequest,
  recipientSet: RecipientSet,
  identity: Pick<Admission, 'request' | 'isRepeatable'>,
  /** The chain reverted the payment before, so it must be final now. */
  wasReverted: boolean,
  submission: Submission | undefined,
): Promise<Admission | Refusal> {
  const { routeRuntime, incoming, proof } = claim
  const { runtime, route } = routeRuntime
  const { request: name } = identity
  const claimable = claimableUntil(request, route.config.proofTtlSeconds)
  if (runtime.clock.now() > claimable) return refuseAfter(runtime, claimable, claimExpired)
  // The window starts by this clock, so a wrong clock starts none.
  if (request.allowance.unit === 'second' && runtime.clockCheck.why() !== undefined) return clockUnsure
  // Its data is public as soon as it lands, but it belongs to the request that submitted it.
  if (submission && submission.heldUntil > runtime.clock.now()) return refuse('payment_in_progress')
  const { notAfter, ...terms } = await quoteFor(claim, request, recipientSet)
  // The service recorded and sent it before the quote expired, so it is on time whenever it lands.
  const quote = claim.via || submission?.request === name ? { ...terms, isRecorded: true } : { ...terms, notAfter }
  const verdict = await readForGrant(claim, quote, wasReverted)
  if (verdict.kind === 'refused') {
    notePending(claim, request, recipientSet, name, verdict.code)
    return verdict
  }
  const paid = verdict.kind === 'late' ? verdict.paid : verdict
  const payment: PaymentRecord = {
    tx: proof.txBytes,
    request: name,
    payer: runtime.pseudonyms.wallet(proof.payerBytes),
    scope: route.config.scope,
    recipient: recipientSet.recipient,
    token: paid.option.token,
    required: paid.option.units,
    received: paid.received,
    ...(paid.splits && { splits: paid.splits }),
    ...(paid.isCollected && { isCollected: true }),
    allowance: request.allowance,
    slot: verdict.slot,
    finality: verdict.finality,
    paidAt: verdict.paidAt,
    usableUntil: usableUntilOf(claim, request.allowance, verdict.paidAt, claimable),
    endpoint: nameEndpoint(route.config.endpoint, incoming),
    ...(await appraise(claim, paid.option, paid.received, verdict.paidAt)),
  }
  if (verdict.kind === 'late') {
    await runtime.ledger.recordLate(payment)
    return refuse('payment_expired', {
      detail: 'The payment landed after the challenge expired. Ask the provider for a refund.',
    })
  }
  const passedOn = computePassedOn(request, payment)
  return take(claim, { ...payment, passedOn, ...identity }, payment)
}

/**
 * The record of a transaction that the service sent for another request. Only a bare requestId is paid in this way: the
 * others have a secret or a signature of their own.
 */
async function findSubmission({ routeRuntime, proof, via }: Claim, request: OpenedRequest) {
  const { runtime, dialects } = routeRuntime
  if (via || request.proof !== 'bare' || dialects.requestHeaders.length === 0) return undefined
  return runtime.ledger.submissions.find(proof.txBytes)
}

/** The client that submitted the transaction shows the claim of its challenge. */
function checkReservation({ routeRuntime, proof }: Claim, { sealed }: Submission): Refusal | undefined {
  const opened = openSubmission(routeRuntime.runtime.sealer, sealed, proof.tx)
  return opened ? checkSubmitter(opened, proof.claim) : refuse('payment_replay')
}

/**
 * The value of a payment in the report token, at the rates of its block time. A later claim therefore gains nothing.
 */
async function appraise({ routeRuntime }: Claim, { token, decimals }: PaymentOption, units: bigint, paidAt: number) {
  const { runtime, route } = routeRuntime
  const { reportToken } = runtime.config
  const found = await route.rates.find(paidAt, token === reportToken ? [] : [token, reportToken])
  const rates: FrozenRates = { ...found, decimals: { ...decimalsIn(route.config.mints), [token]: decimals } }
  return { worth: computeValue({ token, units, decimals }, reportToken, found.table), rates }
}

/** A payment for one request is used within the claim period. Others last longer, also by a clock that is behind. */
function usableUntilOf({ routeRuntime }: Claim, allowance: Allowance, paidAt: number, claimable: number): number {
  if (isOneRequest(allowance)) return claimable
  const { runtime, route } = routeRuntime
  const windowSeconds = allowance.unit === 'second' ? Number(allowance.amount) : 0
  const lifeMs = Math.max(route.config.allowanceTtlSeconds, windowSeconds) * 1000
  return Math.max(claimable, Math.floor(Math.max(runtime.clock.now(), paidAt) + lifeMs))
}

type PaymentFacts = Pick<PaymentStatus, 'token' | 'received' | 'payer' | 'allowance' | 'usableUntil'> &
  Pick<Admission, 'passedOn' | 'request' | 'isRepeatable'>

async function take(
  { routeRuntime, incoming, proof, lamports }: Claim,
  facts: PaymentFacts & Partial<Pick<PaymentStatus, 'remaining'>>,
  payment?: PaymentRecord,
): Promise<Admission | Refusal> {
  const { runtime, route } = routeRuntime
  const takenAt = runtime.clock.monotonic()
  const { leaseMs } = route.config
  const { token, received, passedOn, payer, allowance, remaining: left, request, isRepeatable } = facts
  const about = { token, received, passedOn, payer, allowance, request, isRepeatable }
  const common = { kind: 'admitted', takenAt, ...about } as const
  // A window starts at its first use.
  const until = (remaining: bigint): number =>
    payment && allowance.unit === 'second' ? runtime.clock.now() + Number(remaining) * 1000 : facts.usableUntil
  // The use of an open window is not recorded.
  if (allowance.unit === 'second' && !payment && left !== undefined)
    return { ...common, grant: undefined, remaining: left, usableUntil: until(left), first: false }
  const order = {
    tx: proof.txBytes,
    request,
    leaseMs,
    ...wanted(allowance, incoming),
    ...(payment && { payment }),
  }
  // Written at the same moment, so the ledger flushes the disk once for both. The submission stays reserved.
  const { ledger } = runtime
  const [taken] = await Promise.all([
    takePatiently(runtime, order),
    payment && lamports !== undefined && recordLater(ledger.submissions.close(proof.txBytes, 'landed', lamports)),
  ])
  if (taken.kind === 'granted') {
    const { grant, remaining } = taken
    return { ...common, grant, remaining, usableUntil: until(remaining), first: payment !== undefined }
  }
  // The chain has just reverted the payment. It may land again.
  if (taken.kind === 'unknown') return refuse('tx_not_final')
  if (taken.kind === 'busy') return refuse('payment_in_progress')
  return refuseAfter(runtime, facts.usableUntil, refuse('payment_replay'))
}

function isSliced({ allowance: { unit, amount } }: Pick<PaymentStatus, 'allowance'>): boolean {
  return unit === 'request' && sliceOfUses(amount) > 0n
}

/** A server returns a slice after a second without use. */
const sliceReturnMs = 1_500
const pauseMs = 50

/** Takes a grant. Waits if the last uses of a bundle are in the slices of other servers, which may return them. */
async function takePatiently({ ledger, clock }: Pick<Runtime, 'ledger' | 'clock'>, order: Take): Promise<Taken> {
  const waitsUntil = clock.monotonic() + sliceReturnMs
  for (let wait = pauseMs; ; wait *= 2) {
    const taken = await ledger.take(order)
    const leftMs = waitsUntil - clock.monotonic()
    if (taken.kind !== 'busy' || !taken.hasSlices || leftMs <= 0) return taken
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait, leftMs)))
  }
}

/** The part of the allowance that this request needs. */
function wanted({ unit, amount }: Allowance, incoming: Incoming): Pick<Take, 'amount' | 'from'> {
  if (unit === 'byte') return { amount: firstSlice(amount) }
  if (unit !== 'file') return { amount: 1n }
  const range = parseRange(incoming.header('range'), amount)
  if (!range) return { amount }
  return { from: range.from, amount: range.to > range.from ? range.to - range.from : 1n }
}
