/**
 * Computes the changes of the totals for a payment. The functions are pure, so both databases keep the same books. A
 * change of a payment and the change of its totals are written in one transaction.
 */

import type { TokenCode } from '../../core/money/tokens.ts'
import { refundedWorth } from '../../core/payouts/refunds.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import type { Sum } from '../../core/ports/reports.ts'
import type { Finality } from './grants.ts'

/** The fields of a payment that the books use. */
export interface Booked extends Pick<PaymentRecord, 'paidAt' | 'endpoint' | 'payer' | 'token' | 'received' | 'worth'> {
  readonly late: boolean
  readonly finality: Finality
}

/**
 * Totals for all time, by hour and by day (UTC), of the whole service, by endpoint and by payer. Each grain is read on
 * its own. The lines of payers are numerous and have their own table.
 */
const grains = ['all', 'endpoint', 'hour', 'hour_endpoint', 'day_endpoint', 'day_payer'] as const
export type Grain = (typeof grains)[number]

/** `at` is 0 and `endpoint` is empty if the grain has none. In a payer's line, `endpoint` is the payer. */
export interface LineKey {
  readonly grain: Grain
  readonly at: number
  readonly endpoint: string
  readonly token: TokenCode
}

export type Counts = Omit<Sum, 'token'>
export type Line = LineKey & Counts

/** One change for several lines. */
export interface TotalsChange {
  readonly keys: readonly LineKey[]
  readonly counts: Counts
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const noCounts: Counts = { payments: 0, received: 0n, worth: 0n, unvalued: 0, refunded: 0n, refundedWorth: 0n }

/** The final refund of a payment. */
export interface BookedRefund {
  /**
   * The time at which the refund became final. The refund is booked at this time, regardless of the time of the
   * payment.
   */
  readonly at: number
  readonly units: bigint
}

/** Late payments bought nothing, and reverted payments earned nothing. */
export function isCounted({ late, finality }: Pick<Booked, 'late' | 'finality'>): boolean {
  return !late && finality !== 'reverted'
}

/** The change of the books for a payment in its current state. */
export function computeChange(booked: Booked): TotalsChange {
  const { paidAt, received, worth } = booked
  const counts = { payments: 1, received, worth: worth ?? 0n, unvalued: worth === undefined ? 1 : 0 }
  return { keys: keysAt(booked, paidAt), counts: { ...noCounts, ...counts } }
}

/**
 * Late payments were never in the books. A payment that was refunded and then reverted is a loss, and its refund still
 * counts.
 */
export function isRefundCounted({ late }: Pick<Booked, 'late'>): boolean {
  return !late
}

/** The change of the books for a refund. */
export function refundChange(booked: Booked, { at, units }: BookedRefund): TotalsChange {
  const worth = refundedWorth(booked.worth, units, booked.received)
  return { keys: keysAt(booked, at), counts: { ...noCounts, refunded: units, refundedWorth: worth } }
}

function keysAt({ endpoint, payer, token }: Booked, time: number): readonly LineKey[] {
  const [hour, day] = [computeStart(time, hourMs), computeStart(time, dayMs)]
  return [
    { grain: 'all', at: 0, endpoint: '', token },
    { grain: 'endpoint', at: 0, endpoint, token },
    { grain: 'hour', at: hour, endpoint: '', token },
    { grain: 'hour_endpoint', at: hour, endpoint, token },
    { grain: 'day_endpoint', at: day, endpoint, token },
    { grain: 'day_payer', at: day, endpoint: payer, token },
  ]
}

/** The changes between two states of a payment. A line that occurs in both states adds up to zero. */
export function changesBetween(before: Booked | undefined, after: Booked | undefined): readonly TotalsChange[] {
  const out = before && isCounted(before) ? computeChange(before) : undefined
  const into = after && isCounted(after) ? computeChange(after) : undefined
  return [...(out ? [{ ...out, counts: negated(out.counts) }] : []), ...(into ? [into] : [])]
}

/** The changes by line, in the order of the line names, which all writers use. Unchanged lines are omitted. */
export function listLines(changes: readonly TotalsChange[]): readonly Line[] {
  // Every payment passes here six times, so the code avoids copies.
  const lines = new Map<string, { -readonly [Part in keyof Line]: Line[Part] }>()
  for (const { keys, counts } of changes) {
    const { payments, received, worth, unvalued, refunded, refundedWorth } = counts
    for (const key of keys) {
      const name = nameLine(key)
      const line = lines.get(name)
      if (line) {
        line.payments += payments
        line.received += received
        line.worth += worth
        line.unvalued += unvalued
        line.refunded += refunded
        line.refundedWorth += refundedWorth
      } else {
        const { grain, at, endpoint, token } = key
        lines.set(name, { grain, at, endpoint, token, payments, received, worth, unvalued, refunded, refundedWorth })
      }
    }
  }
  const names = [...lines.keys()].sort()
  return names.map((name) => lines.get(name) as Line).filter((line) => !isNothing(line))
}

/** Merges changes into one per line. */
export function gathered(changes: readonly TotalsChange[]): TotalsChange[] {
  return listLines(changes).map(({ grain, at, endpoint, token, ...counts }) => ({
    keys: [{ grain, at, endpoint, token }],
    counts,
  }))
}

/** The endpoint comes last, because only the endpoint can contain a space. */
export function nameLine({ grain, at, endpoint, token }: LineKey): string {
  return `${grain} ${at} ${token} ${endpoint}`
}

export function added(one: Counts, other: Counts): Counts {
  return {
    payments: one.payments + other.payments,
    received: one.received + other.received,
    worth: one.worth + other.worth,
    unvalued: one.unvalued + other.unvalued,
    refunded: one.refunded + other.refunded,
    refundedWorth: one.refundedWorth + other.refundedWorth,
  }
}

export function negated({ payments, received, worth, unvalued, refunded, refundedWorth }: Counts): Counts {
  const counts = { payments: -payments, received: -received, worth: -worth, unvalued: -unvalued }
  return { ...counts, refunded: -refunded, refundedWorth: -refundedWorth }
}

export function isNothing({ payments, received, worth, unvalued, refunded, refundedWorth }: Counts): boolean {
  const isUnpaid = payments === 0 && received === 0n && worth === 0n && unvalued === 0
  return isUnpaid && refunded === 0n && refundedWorth === 0n
}

export function computeStart(time: number, spanMs: number): number {
  return Math.floor(time / spanMs) * spanMs
}
