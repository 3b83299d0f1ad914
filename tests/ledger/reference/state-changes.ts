/** What the books of the reference ledger are made of, one by one: payments that count, and what was sent back of payments. */
import type { PaymentRecord } from '../../../src/core/ports/ledger.ts'
import type { Booked, Counts } from '../../../src/ledger/rules/totals.ts'
import { computeChange, isCounted, isRefundCounted, refundChange } from '../../../src/ledger/rules/totals.ts'
import type { ReferenceEntry, Room } from './tables.ts'
import { formatKey } from './tables.ts'

export interface ReferenceMove {
  readonly at: number
  readonly record: PaymentRecord
  readonly counts: Counts
}

export function movesIn({ entries, till }: Room): readonly ReferenceMove[] {
  const paid = [...entries.values()]
    .filter(({ account }) => isCounted(account))
    .map((entry) => ({ at: entry.record.paidAt, record: entry.record, counts: computeChange(bookedOf(entry)).counts }))
  const refunded = [...till.dispatches.values()].flatMap(({ dispatch, refunds }): readonly ReferenceMove[] => {
    const entry = refunds && dispatch.state === 'landed' ? entries.get(formatKey(refunds.tx)) : undefined
    if (!refunds || !entry || !isRefundCounted(entry.account)) return []
    const refund = { at: dispatch.changedAt, units: refunds.units }
    return [{ at: refund.at, record: entry.record, counts: refundChange(bookedOf(entry), refund).counts }]
  })
  return [...paid, ...refunded]
}

function bookedOf({ record, account }: ReferenceEntry): Booked {
  return { ...record, late: account.late, finality: account.finality }
}
