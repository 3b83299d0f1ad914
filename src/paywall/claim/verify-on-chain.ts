/**
 * What the chain says of the payment that a proof names: within the client's budget, and final where much is at stake.
 */
import { readClientAddress } from '../../core/encoding/client-address.ts'
import type { Incoming } from '../../core/encoding/http.ts'
import type { Refusal } from '../../core/payment/refusals.ts'
import { refusals, refuse } from '../../core/payment/refusals.ts'
import type { Late, Paid, Quote } from '../../core/payment/verify.ts'
import { judge } from '../../core/payment/verify.ts'
import type { Commitment, ReadOptions } from '../../core/ports/chain.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import { mustBeFinal } from '../config/finality.ts'
import type { Route } from '../quote/route.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'

/** A proof that was shown to a route. */
export interface Claim {
  readonly routeRuntime: RouteRuntime
  readonly incoming: Incoming
  readonly proof: Proof
}

/** A verdict with when and where the payment landed, and how sure the chain is of it. */
export type LandedPayment<Verdict> = Verdict & {
  readonly slot: number
  readonly paidAt: number
  readonly finality: Commitment
}

/** What a payment came to, as the nodes tell it. */
type ChainRead = (claim: Claim, quote: Quote, options: ReadOptions) => Promise<LandedPayment<Paid | Late> | Refusal>

/** What nodes are asked on behalf of a client has to stay within its budget. What was seen before costs nothing. */
export async function readWithin(
  claim: Claim,
  quote: Quote,
  read: ChainRead,
): Promise<LandedPayment<Paid | Late> | Refusal> {
  const { routeRuntime, incoming, proof } = claim
  const { runtime, route } = routeRuntime
  if (!route.config.verifyOnChain) return readPayment(claim, quote, {})
  const isSeen = runtime.chain.seen(proof.tx) !== undefined
  const known = isSeen ? await read(claim, quote, {}) : undefined
  // That a payment is good may be told from what was seen; that it is not, only from what the nodes say now.
  if (known && isUseful(known)) return known
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const credit = runtime.budget.enter(address, proof.requestId)
  if (!credit) return known ?? refuse('rate_limited')
  let wasUseful = true
  try {
    const { isDoubtful } = credit
    const verdict = await read(claim, quote, { isDoubtful, isAnew: isSeen })
    wasUseful = isUseful(verdict)
    return verdict
  } finally {
    credit.leave(wasUseful)
  }
}

/** An outage is not the client's fault, and what is not final was paid. */
function isUseful(verdict: LandedPayment<Paid | Late> | Refusal): boolean {
  if (verdict.kind !== 'refused' || verdict.code === 'tx_not_final') return true
  return refusals[verdict.code].status === 503 && !verdict.isCostly
}

/** Reads a payment that is to be granted, within the budget, and final where much is at stake. */
export function readForGrant(claim: Claim, quote: Quote, wasReverted: boolean) {
  return readWithin(claim, quote, (...call) => readFinally(...call, wasReverted))
}

/** Reads a payment, and where much is at stake, once more when the chain cannot take it back. */
export async function readFinally(claim: Claim, quote: Quote, options: ReadOptions, wasReverted: boolean) {
  const { runtime, route } = claim.routeRuntime
  const verdict = await readPayment(claim, quote, options)
  if (verdict.kind !== 'paid') return verdict
  const { token, units } = verdict.option
  const finality = route.config.finality(route.rates.current())
  const payer = runtime.pseudonyms.wallet(claim.proof.payerBytes)
  const exposure = { recipient: quote.recipient, payer, token, units: verdict.received }
  const isSmall = !wasReverted && !mustBeFinal(finality, token, units)
  if (isSmall && !runtime.exposure.exceeds(finality.risk, exposure)) return verdict
  const final = await readPayment(claim, quote, { commitment: 'finalized' })
  return final.kind === 'refused' && final.code === 'tx_not_found' ? refuse('tx_not_final') : final
}

export const readPayment: ChainRead = async ({ routeRuntime, proof }, quote, options) => {
  const { runtime, route } = routeRuntime
  if (!route.config.verifyOnChain) return assumePaid(route, runtime.clock.now(), proof, quote)
  const reading = await runtime.chain.read(proof.tx, route.config.waitMs, options)
  if (reading.kind === 'missing') return refuse('tx_not_found')
  if (reading.kind !== 'found') {
    runtime.log.warn('chain.unreadable', { kind: reading.kind, why: reading.why })
    if (reading.kind === 'disagreement') return refuse('chain_disagreement')
    return refuse('chain_unavailable', { isCostly: reading.isUnreadable ?? false })
  }
  const { effect } = reading
  const signer = proof.sig && proof.signer
  const verdict = judge(effect, quote, { address: proof.payer, ...(signer && { signer }) })
  if (verdict.kind === 'refused') {
    if (verdict.code === 'wrong_recipient' && verdict.detail)
      runtime.log.error('token_account.lost', { recipient: quote.recipient })
    return verdict
  }
  const finality = options.commitment ?? 'confirmed'
  return { ...verdict, slot: effect.slot, paidAt: effect.blockTime * 1000, finality }
}

/** `verifyOnChain: false`: the payment is believed, at its price and the present time. */
function assumePaid(route: Route, now: number, proof: Proof, quote: Quote): LandedPayment<Paid> | Refusal {
  const option = quote.options.find(({ token }) => token === route.config.pricing.token) ?? quote.options[0]
  if (!option) return refuse('route_unknown')
  const landed = { slot: 0, paidAt: now, finality: 'finalized' } as const
  return { kind: 'paid', option, payer: proof.payer, received: option.units, ...landed }
}
