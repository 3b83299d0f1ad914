/** Reads the payment of a proof from the chain, within the client's rate limit. Large payments must be final. */
import { readClientAddress } from '../../core/http/client-address.ts'
import type { Incoming } from '../../core/http/http.ts'
import { type Refusal, refusals, refuse } from '../../core/payment/refusals.ts'
import type { Effect, Late, Paid, Payer, Quote } from '../../core/payment/verify.ts'
import { computeWhole, judge } from '../../core/payment/verify.ts'
import { type Chain, type Commitment, type Reading, type ReadOptions, rememberedMs } from '../../core/ports/chain.ts'
import type { Exposure } from '../../core/ports/journal.ts'
import { openSubmission } from '../../core/ports/sealed-submission.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import { openRequest } from '../../core/protocol/request-id.ts'
import type { ForeignDialect } from '../../dialects/dialect.ts'
import { mustBeFinal, type RiskLimit } from '../config/finality.ts'
import type { Route } from '../quote/route.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** A request with a proof, before its admission. */
export interface Claim {
  readonly routeRuntime: RouteRuntime
  readonly incoming: Incoming
  readonly proof: Proof
  /** The dialect of a payment that the service itself sent for this request. */
  readonly via?: ForeignDialect | undefined
  /** Whether the service first recorded such a payment for this request. */
  readonly isNew?: boolean
  /** The fee of the sponsor for such a payment. Its submission is closed together with its first grant. */
  readonly lamports?: bigint
  /** The script of the checkout page asks, to show the resource there. */
  readonly isForPage?: boolean
}

/** A verdict with the slot, the time and the finality of the payment. */
export type LandedPayment<Verdict> = Verdict & {
  readonly slot: number
  readonly paidAt: number
  readonly finality: Commitment
}

/** Reads the payment from the nodes and judges it. */
type ChainRead = (claim: Claim, quote: Quote, options: ReadOptions) => Promise<LandedPayment<Paid | Late> | Refusal>

/** Reads from nodes count against the client's rate limit. Payments that the watcher has seen cost nothing. */
export async function readWithin(
  claim: Claim,
  quote: Quote,
  read: ChainRead,
): Promise<LandedPayment<Paid | Late> | Refusal> {
  const { routeRuntime, incoming, proof } = claim
  const { runtime, route } = routeRuntime
  if (!route.config.verifyOnChain) return readPayment(claim, quote, {})
  const seen = runtime.chain.seen(proof.tx)
  const known = seen && isAccepted(seen, quote, readPayer(proof)) ? await read(claim, quote, {}) : undefined
  if (known && isUseful(known)) return known
  // The service sent it, so the lookup is no guess of the client.
  if (claim.via) return read(claim, quote, {})
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const credit = await runtime.rateLimit.enter(address, proof.requestId)
  if (!credit) return refuse('rate_limited')
  let wasUseful = true
  try {
    const { isDoubtful } = credit
    const verdict = await read(claim, quote, { isDoubtful })
    wasUseful = isUseful(verdict)
    return verdict
  } finally {
    credit.leave(wasUseful)
  }
}

/** An outage is not the client's fault, and a payment that is not final yet was paid. */
function isUseful(verdict: LandedPayment<Paid | Late> | Refusal): boolean {
  if (verdict.kind !== 'refused' || verdict.code === 'tx_not_final') return true
  return refusals[verdict.code].status === 503 && !verdict.isCostly
}

/**
 * Reads a payment before its grant, within the rate limit. Large payments must be final. Others count among those that are
 * not final until the claim is released.
 */
export function readForGrant(claim: Claim, quote: Quote, wasReverted: boolean) {
  const { exposure } = claim.routeRuntime.runtime
  const reserve: ExposureCheck = (limit, payment) => exposure.reserve(claim, claim.proof.tx, limit, payment)
  return readWithin(claim, quote, (...call) => readFinally(...call, wasReverted, reserve))
}

/** Whether a payment that is not final fits the limit. For a grant, it also reserves the amount. */
type ExposureCheck = (limit: RiskLimit, payment: Exposure) => boolean

/** Reads a payment. If the amount or the exposure is large, reads it again when it is final. */
export async function readFinally(
  claim: Claim,
  quote: Quote,
  options: ReadOptions,
  wasReverted: boolean,
  fits: ExposureCheck = (limit, payment) => !claim.routeRuntime.runtime.exposure.exceeds(limit, payment),
) {
  const { runtime, route } = claim.routeRuntime
  const verdict = await readPayment(claim, quote, options)
  if (verdict.kind !== 'paid' || verdict.finality === 'finalized') return verdict
  const { token } = verdict.option
  const price = computeWhole(verdict.option)
  const finality = route.config.finality(route.rates.current())
  const payer = runtime.pseudonyms.wallet(claim.proof.payerBytes)
  const exposure = { recipient: quote.recipient, payer, token, units: verdict.received }
  const isSmall = !wasReverted && !mustBeFinal(finality, token, price)
  if (isSmall && fits(finality.risk, exposure)) return verdict
  const final = await readPayment(claim, quote, { commitment: 'finalized' })
  return final.kind === 'refused' && final.code === 'tx_not_found' ? refuse('tx_not_final') : final
}

interface QuoteReading extends Omit<ReadOptions, 'isEnough'> {
  readonly waitMs: number
  /** Undefined if any payer of the transaction counts. */
  readonly payer?: Payer | undefined
}

/**
 * Reads a transaction that should pay a quote. Uses the watcher's reading only if it pays the quote. Otherwise asks the
 * nodes, because that reading can be old or wrong, and a refusal can be final.
 */
export function readForQuote(
  { read }: Pick<Chain, 'read'>,
  tx: string,
  quote: Quote,
  { waitMs, payer, ...options }: QuoteReading,
): Promise<Reading> {
  return read(tx, waitMs, { ...options, isEnough: (effect) => isAccepted(effect, quote, payer) })
}

function isAccepted(effect: Effect, quote: Quote, payer?: Payer): boolean {
  return judgeOnce(effect, quote, payer).kind === 'paid'
}

/** The last verdict about a quote. The steps of one claim ask for the same one. */
const verdicts = new WeakMap<Quote, { effect: Effect; payer: Payer | undefined; verdict: ReturnType<typeof judge> }>()

function judgeOnce(effect: Effect, quote: Quote, payer: Payer | undefined): ReturnType<typeof judge> {
  const last = verdicts.get(quote)
  const isSame = last?.effect === effect && last.payer?.address === payer?.address
  if (isSame && last.payer?.signer === payer?.signer) return last.verdict
  const verdict = judge(effect, quote, payer)
  verdicts.set(quote, { effect, payer, verdict })
  return verdict
}

/** Clients of other protocols send a credential once, so their requests wait until a payment is final. */
const finalWaitMs = 30_000

export const readPayment: ChainRead = async ({ routeRuntime, proof, via }, quote, options) => {
  const { runtime, route } = routeRuntime
  if (!route.config.verifyOnChain) return assumePaid(route, runtime.clock.now(), proof, quote)
  const { waitMs } = route.config
  const isPatient = via !== undefined && options.commitment === 'finalized'
  const maxWaitMs = isPatient ? Math.max(waitMs, finalWaitMs) : waitMs
  const isOld = runtime.clock.now() - issuedMs(proof) > rememberedMs
  const payer = readPayer(proof)
  const reading = await readForQuote(runtime.chain, proof.tx, quote, { ...options, waitMs: maxWaitMs, isOld, payer })
  if (reading.kind === 'missing') return refuse('tx_not_found')
  if (reading.kind !== 'found') {
    runtime.log.warn('chain.unreadable', { kind: reading.kind, why: reading.why })
    if (reading.kind === 'disagreement') return refuse('chain_disagreement')
    return refuse('chain_unavailable', { isCostly: reading.isUnreadable ?? false })
  }
  const { effect } = reading
  const verdict = judgeOnce(effect, quote, payer)
  if (verdict.kind === 'refused') {
    if (verdict.code === 'wrong_recipient' && verdict.detail)
      runtime.log.error('token_account.lost', { recipient: quote.recipient })
    return verdict
  }
  if (effect.feePayer !== proof.payer && !via && (await hasPaidElsewhere(runtime, proof)))
    return refuse('payment_replay')
  const finality = options.commitment ?? 'confirmed'
  return { ...verdict, slot: effect.slot, paidAt: effect.blockTime * 1000, finality }
}

function readPayer({ payer, sig, signer }: Proof): Payer {
  return { address: payer, ...(sig && signer && { signer }) }
}

function issuedMs({ requestId }: Proof): number {
  return (openRequest(requestId)?.issuedAt ?? 0) * 1000
}

/** Whether a facilitator on this ledger settled it for another server. Its payer chose the memo. */
async function hasPaidElsewhere({ ledger, sealer }: Pick<Runtime, 'ledger' | 'sealer'>, { tx, txBytes }: Proof) {
  const record = await ledger.submissions.find(txBytes)
  return record !== undefined && openSubmission(sealer, record.sealed, tx)?.requestId === undefined
}

/** With `verifyOnChain: false`, every payment counts as made, at its price and the current time. */
function assumePaid(route: Route, now: number, proof: Proof, quote: Quote): LandedPayment<Paid> | Refusal {
  const option = quote.options.find(({ token }) => token === route.config.pricing.token) ?? quote.options[0]
  if (!option) return refuse('route_unknown')
  const landed = { slot: 0, paidAt: now, finality: 'finalized' } as const
  const { units: received, splits } = option
  return { kind: 'paid', option, payer: proof.payer, received, ...(splits && { splits }), ...landed }
}
