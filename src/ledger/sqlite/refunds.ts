/** Refunds that have landed, as the books in SQLite take them: each with the payment of which it was sent back. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { RefundOfPayment } from '../rules/audit.ts'
import { formatText } from '../stored-text.ts'
import type { BookedRow } from './rows.ts'
import { bookedColumns, readBooked } from './rows.ts'

interface RefundRow extends BookedRow {
  readonly sent: string
  readonly changed_at: bigint
}

/** As `isRefundCounted` has it. */
const select = `SELECT sent, changed_at, ${bookedColumns.replaceAll(/\w+/g, 'paid.$&')} FROM dispatches
  JOIN payments AS paid ON paid.tx = dispatches.payment
  WHERE kind = 'refund' AND dispatches.state = 'landed' AND paid.state <> 'late'`

/** Of one dispatch; undefined where it is none, or its payment is not in the books. */
export function prepareRefund(db: DatabaseSyncInstance): (id: string) => RefundOfPayment | undefined {
  const one = db.prepare(`${select} AND dispatches.id = ?`)
  one.setReadBigInts(true)
  return (id) => {
    const row = one.get(formatText(id)) as RefundRow | undefined
    return row && readRefund(row)
  }
}

export function prepareRefunds(db: DatabaseSyncInstance) {
  const within = db.prepare(`${select} AND changed_at >= ? AND changed_at < ?`)
  within.setReadBigInts(true)
  return (span: readonly [from: number, to: number]): readonly RefundOfPayment[] =>
    (within.all(...span) as unknown as RefundRow[]).map(readRefund)
}

function readRefund(row: RefundRow): RefundOfPayment {
  return { booked: readBooked(row), refund: { at: Number(row.changed_at), units: BigInt(row.sent) } }
}
