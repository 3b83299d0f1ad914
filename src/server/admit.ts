/**
 * From a proof to a grant: cheapest check first, and nothing changes before the last step.
 *
 * parse → seal, route, binding → claim → ledger peek → signature → chain → rules → one atomic take.
 */
import { decodeAddress } from '../core/base58.ts'
import { readClientAddress } from '../core/client-address.ts'
import type { Refusal } from '../core/errors.ts'
import { refusals, refuse } from '../core/errors.ts'
import type { Incoming } from '../core/http.ts'
import { equalBytes } from '../core/mac.ts'
import type { TokenCode } from '../core/network.ts'
import type { Commitment, Grant, PaymentRecord, ReadOptions, Standing } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { Proof } from '../core/proof.ts'
import { hashClaim, proofText } from '../core/proof.ts'
import type { OpenedRequest } from '../core/request-id.ts'
import { openRequest } from '../core/request-id.ts'
import type { Late, Paid, Quote } from '../core/verify.ts'
import { judge } from '../core/verify.ts'
import { mustBeFinal } from './exposure.ts'
import { claimableUntil, paymentOptions, paymentWindow } from './quote.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

const signatureAgeSeconds = 300

/** A grant, and what is said about the payment behind it. */
export interface Admission {
  readonly kind: 'admitted'
  readonly grant: Grant
  /** From which our lease counts, in monotonic milliseconds: before the ledger was asked, so never too late. */
  readonly takenAt: number
  readonly remaining: bigint
  readonly token: TokenCode
  readonly received: bigint
  readonly payer: string
  /** False when the ledger knew the payment already. */
  readonly first: boolean
}

export interface Case {
  readonly service: Service
  readonly route: Route
  readonly incoming: Incoming
  readonly proof: Proof
}

/** Decides whether a proof opens the door, and if so takes the grant. */
export async function admit(visit: Case): Promise<Admission | Refusal> {
  try {
    return await decide(visit)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    visit.service.log.error('ledger unavailable', { why: error.message })
    return refuse('ledger_unavailable')
  }
}

async function decide(visit: Case): Promise<Admission | Refusal> {
  const { service, route, proof } = visit
  const request = openRequest(proof.requestId)
  if (!request) return refuse('unknown_request')
  const name = service.pseudonyms.request(proof.requestId)
  const recognition = service.recognise(request)
  if (recognition.kind === 'forged') return refuse('unknown_request')
  const mismatch = checkBinding(visit, request) ?? checkClaim(visit, request)
  // A response that has just ended here counts as ended, even if the ledger is still writing it down.
  await service.ending.get(proof.tx)
  let standing: Standing | undefined
  if (recognition.kind === 'unknown_key') {
    // A registered requestId was authentic when it was registered, whatever became of its key.
    standing = await service.ledger.peek(proof.txBytes)
    if (standing?.request !== name) return refuse('unknown_request')
  } else if (!route.recipients.includes(recognition.recipient)) {
    return refuse('binding_mismatch')
  }
  if (mismatch) return mismatch
  standing ??= await service.ledger.peek(proof.txBytes)
  const known = standing && judgeStanding(visit, standing, name)
  if (known?.kind === 'refused') return known
  const unsigned = checkSignature(visit, request)
  if (unsigned) return unsigned
  if (standing && known?.kind === 'usable') {
    const recipients = recognition.kind === 'sealed' ? [recognition.recipient] : route.recipients
    return (await checkSigner(visit, request, recipients)) ?? take(visit, name, standing)
  }
  if (recognition.kind !== 'sealed') return refuse('unknown_request')
  return register(visit, request, recognition.recipient, name, standing?.state === 'reverted')
}

function checkBinding({ service, route, incoming }: Case, request: OpenedRequest): Refusal | undefined {
  if (!route.tags.some((tag) => equalBytes(tag, request.routeTag))) {
    return refuse(service.knowsRoute(request.routeTag) ? 'binding_mismatch' : 'route_unknown')
  }
  const bindings = [route.bindingOf('request', incoming), route.bindingOf('path', incoming)]
  return bindings.some((tag) => equalBytes(tag, request.bindingTag)) ? undefined : refuse('binding_mismatch')
}

function checkClaim({ service, proof }: Case, request: OpenedRequest): Refusal | undefined {
  if (request.claimTag) {
    if (proof.claim === undefined) return refuse('claim_required')
    const tag = service.tags.claim(hashClaim(proof.claim))
    return equalBytes(tag, request.claimTag) ? undefined : refuse('claim_invalid')
  }
  if (request.proof !== 'sig') return undefined
  if (proof.sig === undefined || proof.ts === undefined) return refuse('signature_required')
  const age = Math.abs(service.clock.now() / 1000 - proof.ts)
  return age > signatureAgeSeconds
    ? refuse('signature_invalid', { detail: 'ts is too far from the present.' })
    : undefined
}

type KnownPayment = { readonly kind: 'usable' } | { readonly kind: 'unregistered' } | Refusal

function judgeStanding({ service, proof }: Case, standing: Standing, name: string): KnownPayment {
  if (standing.state === 'late') return { kind: 'unregistered' }
  if (standing.state === 'reverted' && standing.request === name) return { kind: 'unregistered' }
  if (standing.request !== name) return refuse('payment_replay')
  if (standing.payer !== service.pseudonyms.wallet(proof.payerBytes)) return refuse('payer_mismatch')
  if (standing.state === 'spent') return refuse('payment_replay')
  return standing.state === 'busy' ? refuse('payment_in_progress') : { kind: 'usable' }
}

/** Costs a tenth of a millisecond, so it comes after everything that is cheaper, and before the chain. */
function checkSignature({ service, route, incoming, proof }: Case, request: OpenedRequest): Refusal | undefined {
  if (request.proof !== 'sig' || proof.sig === undefined || proof.ts === undefined) return undefined
  const { genesis } = service
  const key = decodeAddress(proof.signer ?? proof.payer) ?? new Uint8Array()
  const { tx, requestId, payer, ts, sig } = proof
  const signed = route
    .originsOf(incoming)
    .some((origin) => service.verifier(key, proofText({ origin, genesis, tx, requestId, payer, ts }), sig))
  return signed ? undefined : refuse('signature_invalid')
}

/**
 * The ledger knows who paid, but not who may sign for a payer that cannot: for that the chain is asked again. Otherwise
 * anybody could sign for anybody as soon as a payment is registered.
 */
async function checkSigner(
  visit: Case,
  request: OpenedRequest,
  recipients: readonly string[],
): Promise<Refusal | undefined> {
  const { signer, payer } = visit.proof
  if (request.proof !== 'sig' || signer === undefined || signer === payer) return undefined
  let refusal = refuse('payer_mismatch')
  for (const recipient of recipients) {
    const verdict = await readWithin(visit, await quoteFor(visit, request, recipient), readPayment)
    if (verdict.kind !== 'refused') return undefined
    refusal = verdict
  }
  return refusal
}

async function quoteFor({ service, route, proof }: Case, request: OpenedRequest, recipient: string): Promise<Quote> {
  const options = await paymentOptions(request.amounts, route.config.mints, recipient, service.tokenAccountOf)
  return { requestId: proof.requestId, recipient, options, ...paymentWindow(request) }
}

async function register(
  visit: Case,
  request: OpenedRequest,
  recipient: string,
  name: string,
  /** The chain took it back once, so it has to be there for good now. */
  wasReverted: boolean,
): Promise<Admission | Refusal> {
  const { service, route, proof } = visit
  const usableUntil = claimableUntil(request, route.config.proofTtlSeconds)
  if (service.clock.now() > usableUntil) {
    return refuse('payment_expired', { detail: 'The time in which this payment could be claimed is over.' })
  }
  const quote = await quoteFor(visit, request, recipient)
  const read: Read = (...call) => readFinally(...call, wasReverted)
  const verdict = await readWithin(visit, quote, read)
  if (verdict.kind === 'refused') return verdict
  const paid = verdict.kind === 'late' ? verdict.paid : verdict
  const payment: PaymentRecord = {
    tx: proof.txBytes,
    request: name,
    payer: service.pseudonyms.wallet(proof.payerBytes),
    scope: route.config.scope,
    recipient,
    token: paid.option.token,
    required: paid.option.units,
    received: paid.received,
    allowance: request.allowance,
    slot: verdict.slot,
    finality: verdict.finality,
    paidAt: verdict.paidAt,
    usableUntil,
  }
  if (verdict.kind === 'late') {
    await service.ledger.recordLate(payment)
    return refuse('payment_expired', {
      detail: 'The payment landed after the challenge had expired; ask the provider for a refund.',
    })
  }
  const admission = await take(visit, name, payment, payment)
  if (admission.kind === 'admitted' && payment.finality === 'confirmed')
    service.exposure.add({ ...payment, units: payment.received })
  return admission
}

/** A verdict with when and where the payment landed, and how sure the chain is of it. */
type Landed<Verdict> = Verdict & {
  readonly slot: number
  readonly paidAt: number
  readonly finality: Commitment
}

type Read = (visit: Case, quote: Quote, options: ReadOptions) => Promise<Landed<Paid | Late> | Refusal>

/** What nodes are asked on behalf of a client has to stay within its budget. What was seen before costs nothing. */
async function readWithin(visit: Case, quote: Quote, read: Read): Promise<Landed<Paid | Late> | Refusal> {
  const { service, route, incoming, proof } = visit
  if (!route.config.verifyOnChain) return readPayment(visit, quote, {})
  const isSeen = service.chain.seen(proof.tx) !== undefined
  const known = isSeen ? await read(visit, quote, {}) : undefined
  // That a payment is good may be told from what was seen; that it is not, only from what the nodes say now.
  if (known && isUseful(known)) return known
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const credit = service.budget.enter(address, proof.requestId)
  if (!credit) return known ?? refuse('rate_limited')
  let wasUseful = true
  try {
    const { isDoubtful } = credit
    const verdict = await read(visit, quote, { isDoubtful, isAnew: isSeen })
    wasUseful = isUseful(verdict)
    return verdict
  } finally {
    credit.leave(wasUseful)
  }
}

/** An outage is not the client's fault, and what is not final was paid. */
function isUseful(verdict: Landed<Paid | Late> | Refusal): boolean {
  return verdict.kind !== 'refused' || refusals[verdict.code].status === 503 || verdict.code === 'tx_not_final'
}

/** Reads a payment, and where much is at stake, once more when the chain cannot take it back. */
async function readFinally(visit: Case, quote: Quote, options: ReadOptions, wasReverted: boolean) {
  const { service, route } = visit
  const verdict = await readPayment(visit, quote, options)
  if (verdict.kind !== 'paid') return verdict
  const { token, units } = verdict.option
  const { finality } = route.config
  const payer = service.pseudonyms.wallet(visit.proof.payerBytes)
  const exposure = { recipient: quote.recipient, payer, token, units: verdict.received }
  const isSmall = !wasReverted && !mustBeFinal(finality, token, units)
  if (isSmall && !service.exposure.exceeds(finality.risk, exposure)) return verdict
  const final = await readPayment(visit, quote, { commitment: 'finalized' })
  return final.kind === 'refused' && final.code === 'tx_not_found' ? refuse('tx_not_final') : final
}

const readPayment: Read = async ({ service, route, proof }, quote, options) => {
  if (!route.config.verifyOnChain) return assumePaid(route, service.clock.now(), proof, quote)
  const reading = await service.chain.read(proof.tx, route.config.waitMs, options)
  if (reading.kind === 'missing') return refuse('tx_not_found')
  if (reading.kind !== 'found') {
    service.log.warn('chain read failed', { kind: reading.kind, why: reading.why })
    return refuse(reading.kind === 'unavailable' ? 'chain_unavailable' : 'chain_disagreement')
  }
  const { effect } = reading
  const signer = proof.sig && proof.signer
  const verdict = judge(effect, quote, { address: proof.payer, ...(signer && { signer }) })
  if (verdict.kind === 'refused') {
    if (verdict.code === 'wrong_recipient' && verdict.detail)
      service.log.error('token account lost', { recipient: quote.recipient })
    return verdict
  }
  const finality = options.commitment ?? 'confirmed'
  return { ...verdict, slot: effect.slot, paidAt: effect.blockTime * 1000, finality }
}

/** `verifyOnChain: false`: the payment is believed, at its price and the present time. */
function assumePaid(route: Route, now: number, proof: Proof, quote: Quote): Landed<Paid> | Refusal {
  const option = quote.options.find(({ token }) => token === route.config.currency) ?? quote.options[0]
  if (!option) return refuse('route_unknown')
  const landed = { slot: 0, paidAt: now, finality: 'finalized' } as const
  return { kind: 'paid', option, payer: proof.payer, received: option.units, ...landed }
}

type PaymentFacts = Pick<Standing, 'token' | 'received' | 'payer'>

async function take(
  { service, route, proof }: Case,
  name: string,
  facts: PaymentFacts,
  payment?: PaymentRecord,
): Promise<Admission | Refusal> {
  const takenAt = service.clock.monotonic()
  const { leaseMs } = route.config
  const order = { tx: proof.txBytes, request: name, amount: 1n, leaseMs, ...(payment && { payment }) }
  const taken = await service.ledger.take(order)
  if (taken.kind === 'granted') {
    const { token, received, payer } = facts
    const { grant, remaining } = taken
    return { kind: 'admitted', grant, takenAt, remaining, token, received, payer, first: payment !== undefined }
  }
  return refuse(taken.kind === 'busy' ? 'payment_in_progress' : 'payment_replay')
}
