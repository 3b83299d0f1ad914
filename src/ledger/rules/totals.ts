/**
 * What a payment adds to which sums. Pure, so that every store keeps the same books: whoever changes a payment adds, in the
 * same transaction, what this says has changed.
 */

import type { TokenCode } from '../../core/money/tokens.ts'
import { refundedWorth } from '../../core/payouts/refunds.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import type { Sum } from '../../core/ports/reports.ts'
import type { Finality } from './grants.ts'

/** What the books go by. */
export interface Booked extends Pick<PaymentRecord, 'paidAt' | 'endpoint' | 'payer' | 'token' | 'received' | 'worth'> {
  readonly late: boolean
  readonly finality: Finality
}

/**
 * For all time, and by hour and day (UTC); for the whole service, by endpoint, and by payer. Each is read on its own, and those of
 * payers, which are many, are kept apart.
 */
const grains = ['all', 'endpoint', 'hour', 'hour_endpoint', 'day_endpoint', 'day_payer'] as const
export type Grain = (typeof grains)[number]

/** `at` is 0 and `endpoint` empty where the grain has none; of a payer's line `endpoint` is the payer. */
export interface LineKey {
  readonly grain: Grain
  readonly at: number
  readonly endpoint: string
  readonly token: TokenCode
}

export type Counts = Omit<Sum, 'token'>
export type Line = LineKey & Counts

/** The same to be added to several lines. */
export interface TotalsChange {
  readonly keys: readonly LineKey[]
  readonly counts: Counts
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const noCounts: Counts = { payments: 0, received: 0n, worth: 0n, unvalued: 0, refunded: 0n, refundedWorth: 0n }

/** What was sent back of a payment, for good. */
export interface BookedRefund {
  /** When that was final: the refund is booked then, however long ago it was paid. */
  readonly at: number
  readonly units: bigint
}

/** What came too late was never sold, and what the chain took back was never earned. */
export function isCounted({ late, finality }: Pick<Booked, 'late' | 'finality'>): boolean {
  return !late && finality !== 'reverted'
}

/** What a payment as it is adds to the books. */
export function computeChange(booked: Booked): TotalsChange {
  const { paidAt, received, worth } = booked
  const counts = { payments: 1, received, worth: worth ?? 0n, unvalued: worth === undefined ? 1 : 0 }
  return { keys: keysAt(booked, paidAt), counts: { ...noCounts, ...counts } }
}

/** What came too late was never in the books. What the chain took back after it was sent back is lost, and stays refunded. */
export function isRefundCounted({ late }: Pick<Booked, 'late'>): boolean {
  return !late
}

/** What a refund adds to the books. */
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

/** What changes in the books when a payment does. What leaves a line and comes back to it adds up to nothing there. */
export function changesBetween(before: Booked | undefined, after: Booked | undefined): readonly TotalsChange[] {
  const out = before && isCounted(before) ? computeChange(before) : undefined
  const into = after && isCounted(after) ? computeChange(after) : undefined
  return [...(out ? [{ ...out, counts: negated(out.counts) }] : []), ...(into ? [into] : [])]
}

/** Changes by line, in the order of their names, which every writer keeps. Lines that stay as they were are left out. */
export function listLines(changes: readonly TotalsChange[]): readonly Line[] {
  // Every payment passes here six times: nothing is copied that need not be.
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

/** The same changes as few: one for each line. */
export function gathered(changes: readonly TotalsChange[]): TotalsChange[] {
  return listLines(changes).map(({ grain, at, endpoint, token, ...counts }) => ({
    keys: [{ grain, at, endpoint, token }],
    counts,
  }))
}

/** The endpoint comes last: it alone may hold a space. */
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
