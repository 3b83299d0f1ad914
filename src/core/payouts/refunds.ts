/**
 * Decides how much of a payment can be refunded. Payments that were never redeemed and surpluses are never shared out. A
 * delivered payment is refunded only if the owner asks for that: its shares stay, so the owner bears the cost.
 */
import type { History } from '../payment/history.ts'

export const refundReasons = [
  'late',
  'unmatched',
  'underpaid',
  'unclaimed',
  'undelivered',
  'surplus',
  'delivered',
] as const
export type RefundReason = (typeof refundReasons)[number]

export type RefundRuling =
  | {
      readonly kind: 'refundable'
      readonly reason: RefundReason
      readonly units: bigint
      /** The whole payment is refunded, so no proof of it is accepted from then on. */
      readonly voids: boolean
      /** Also if something was delivered for it. */
      readonly coversUse: boolean
    }
  /** `from`: the time from which the payment can be refunded, if that is the reason. */
  | { readonly kind: 'refused'; readonly why: string; readonly from?: number }

/** The time within which a payer who intends to claim a payment does so. An earlier refund would only interfere. */
const claimMarginMs = 600_000

/** The known facts about a payment that may be refunded. */
export type RefundCase = Pick<History, 'payment' | 'required'>

export interface RefundWish {
  /** Returns the whole payment although something was delivered for it. */
  readonly evenDelivered?: boolean
}

export function judgeRefund(
  { payment, required }: RefundCase,
  now: number,
  { evenDelivered = false }: RefundWish = {},
): RefundRuling {
  const { state, units, request, delivery } = payment
  const whole = { kind: 'refundable', units, voids: true } as const
  const all = (reason: RefundReason): RefundRuling => ({ ...whole, reason, coversUse: false })
  const refused = (why: string): RefundRuling => ({ kind: 'refused', why })
  switch (state) {
    case 'reverted':
      return refused('the chain reverted the payment')
    case 'confirmed':
      return refused('the payment is not final yet; try again in a minute')
    case 'late':
      return all('late')
    case 'unclaimed':
      if (payment.fault === 'not_on_chain') return refused('the transaction is not on chain yet')
      if (request === '') return all('unmatched')
      if (required !== undefined && units < required) return all('underpaid')
      // After the margin it is refundable even if it could still be claimed: a browser that lost its cookie never
      // claims it.
      return now <= payment.at + claimMarginMs ? refuseUntil(payment.at + claimMarginMs) : all('unclaimed')
    case 'finalized':
      if (delivery === 'none') return all('undelivered')
      if (evenDelivered) return { ...whole, reason: 'delivered', coversUse: true }
      if (required !== undefined && units > required)
        return { kind: 'refundable', reason: 'surplus', units: units - required, voids: false, coversUse: false }
      return refused('the paid resource was delivered')
  }
}

function refuseUntil(from: number): RefundRuling {
  const why = `the payer can still claim the payment; try again after ${new Date(from).toISOString()}`
  return { kind: 'refused', why, from }
}

/** The refunds that are possible now, the usual one first. Empty with the reason if there is none. */
export function listRefunds(refunded: RefundCase, now: number): readonly RefundRuling[] {
  const usual = judgeRefund(refunded, now)
  const whole = judgeRefund(refunded, now, { evenDelivered: true })
  if (whole.kind === 'refused' || !whole.coversUse) return [usual]
  return usual.kind === 'refused' ? [whole] : [usual, whole]
}

/** The part of a payment's value that a refund of these units returns. A full refund returns all of it. */
export function refundedWorth(worth: bigint | undefined, units: bigint, received: bigint): bigint {
  return worth === undefined || received === 0n ? 0n : (worth * units) / received
}

/** The details of a refund, stored with its outgoing transaction. */
export interface RefundFacts {
  /** The payment, in base58. */
  readonly payment: string
  readonly token: string
  readonly units: bigint
  readonly reason: RefundReason
}

export function formatRefund({ payment, token, units, reason }: RefundFacts): string {
  return JSON.stringify({ payment, token, units: units.toString(), reason })
}

/** Parses text that `formatRefund` wrote. */
export function parseRefund(text: string): RefundFacts {
  const read = JSON.parse(text) as Omit<RefundFacts, 'units'> & { readonly units: string }
  return { ...read, units: BigInt(read.units) }
}

/** Each payment has one key for its refund, so it is refunded once. */
export function formatRefundLockKey(payment: string): string {
  return `refund/${payment}`
}
