/** Refunds that have landed, as the books in PostgreSQL take them: each with the payment of which it was sent back. */
import type { RefundOfPayment } from '../rules/audit.ts'
import { formatText } from '../stored-text.ts'
import type { Database } from './database.ts'
import type { PostgresBookedRow } from './totals.ts'
import { bookedColumns, readBooked } from './totals.ts'

type Query = Database['query']

export interface RefundRow extends PostgresBookedRow {
  readonly sent: string
  readonly changed_at: string
  readonly rates: string | null
}

/** As `isRefundCounted` has it. */
const select = `SELECT sent, changed_at, rates, ${bookedColumns.replaceAll(/\w+/g, 'paid.$&')}
  FROM paystile_dispatches AS sent_back JOIN paystile_payments AS paid ON paid.tx = sent_back.payment
  WHERE kind = 'refund' AND state = 'landed' AND NOT paid.late`
// With its payment held: whoever rebuilds the books holds all of them, and counts either before this or after it.
const one = `${select} AND sent_back.id = $1 FOR UPDATE OF paid`
const within = `${select} AND changed_at >= $1 AND changed_at < $2`

/** Of one dispatch; undefined where it is none, or its payment is not in the books. */
export async function findRefund(query: Query, id: string): Promise<RefundOfPayment | undefined> {
  const [row] = (await query(one, [formatText(id)])) as unknown as RefundRow[]
  return row && readRefund(row)
}

export async function readRefunds(
  query: Query,
  span: readonly [from: number, to: number],
): Promise<readonly RefundRow[]> {
  return (await query(within, span)) as unknown as RefundRow[]
}

export function readRefund({ sent, changed_at, rates: _, ...row }: RefundRow): RefundOfPayment {
  return { booked: readBooked(row), refund: { at: Number(changed_at), units: BigInt(sent) } }
}
