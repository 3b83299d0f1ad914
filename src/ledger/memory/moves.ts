/** What the books of the ledger in memory are made of, one by one: payments that count, and what was sent back of payments. */
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import type { Booked, Counts } from '../rules/totals.ts'
import { changeOf, isCounted, isRefundCounted, refundChange } from '../rules/totals.ts'
import type { Entry, Room } from './room.ts'
import { keyOf } from './room.ts'

export interface Move {
  readonly at: number
  readonly record: PaymentRecord
  readonly counts: Counts
}

export function movesIn({ entries, till }: Room): readonly Move[] {
  const paid = [...entries.values()]
    .filter(({ account }) => isCounted(account))
    .map((entry) => ({ at: entry.record.paidAt, record: entry.record, counts: changeOf(bookedOf(entry)).counts }))
  const refunded = [...till.dispatches.values()].flatMap(({ dispatch, refunds }): readonly Move[] => {
    const entry = refunds && dispatch.state === 'landed' ? entries.get(keyOf(refunds.tx)) : undefined
    if (!refunds || !entry || !isRefundCounted(entry.account)) return []
    const refund = { at: dispatch.changedAt, units: refunds.units }
    return [{ at: refund.at, record: entry.record, counts: refundChange(bookedOf(entry), refund).counts }]
  })
  return [...paid, ...refunded]
}

function bookedOf({ record, account }: Entry): Booked {
  return { ...record, late: account.late, finality: account.finality }
}
