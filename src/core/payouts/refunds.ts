/** What of a payment can be sent back: what bought nothing, and what was paid too much. Nothing of it was ever shared out. */
import type { History } from '../payment/history.ts'

export const refundReasons = ['late', 'unmatched', 'underpaid', 'unclaimed', 'undelivered', 'surplus'] as const
export type RefundReason = (typeof refundReasons)[number]

export type RefundRuling =
  | {
      readonly kind: 'refundable'
      readonly reason: RefundReason
      readonly units: bigint
      /** All of it goes back, so that nothing may be had for it from then on, whichever proof is shown. */
      readonly voids: boolean
    }
  | { readonly kind: 'refused'; readonly why: string }

/** A payer who is about to claim a payment does so by then. Until then an owner who sends it back would only be too quick. */
const claimMarginMs = 600_000

/** What is known of a payment that might be sent back. */
export type RefundCase = Pick<History, 'capture' | 'required'>

export function judgeRefund({ capture, required }: RefundCase, now: number): RefundRuling {
  const { state, units, request, delivery } = capture
  const all = (reason: RefundReason): RefundRuling => ({ kind: 'refundable', reason, units, voids: true })
  const refused = (why: string): RefundRuling => ({ kind: 'refused', why })
  switch (state) {
    case 'reverted':
      return refused('the chain took it back, so there is nothing to send back')
    case 'confirmed':
      return refused('the chain might still take it back; try again in a minute')
    case 'late':
      return all('late')
    case 'unclaimed':
      if (request === '') return all('unmatched')
      if (required !== undefined && units < required) return all('underpaid')
      // Later it goes back whether or not it could still be claimed: a browser that lost its cookie never claims it.
      if (now <= capture.at + claimMarginMs)
        return refused(
          `the payer can still claim it; try again at ${new Date(capture.at + claimMarginMs).toISOString()}`,
        )
      return all('unclaimed')
    case 'finalized':
      if (delivery === 'none') return all('undelivered')
      if (required !== undefined && units > required)
        return { kind: 'refundable', reason: 'surplus', units: units - required, voids: false }
      return refused('what it paid for was delivered')
  }
}

/** The part of a payment's worth that was sent back with so many of its units: all of it with all of them. */
export function refundedWorth(worth: bigint | undefined, units: bigint, received: bigint): bigint {
  return worth === undefined || received === 0n ? 0n : (worth * units) / received
}

/** What a refund is about, as its dispatch keeps it. */
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

/** Of text that `formatRefund` wrote. */
export function parseRefund(text: string): RefundFacts {
  const read = JSON.parse(text) as Omit<RefundFacts, 'units'> & { readonly units: string }
  return { ...read, units: BigInt(read.units) }
}

/** A payment is refunded in one lane, once. */
export function refundLane(payment: string): string {
  return `refund/${payment}`
}
