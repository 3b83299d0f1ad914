/** The lines of the books, and the columns of a payment that they use. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Finality } from '../../rules/grants.ts'
import type { Booked, Counts } from '../../rules/totals.ts'
import { formatText, parseText } from '../../stored-text.ts'
import { all, type Dialect, first, type Query, readMoney, sql, type Whole, type Work } from '../work.ts'
import type { RefundOfPayment } from './recount.ts'

export interface BookedRow {
  readonly tx: Uint8Array
  readonly paid_at: Whole
  readonly endpoint: string
  readonly payer: string
  readonly token: TokenCode
  readonly received: string
  readonly worth: string | null
  readonly late: boolean | bigint
  readonly finality: Finality
}

/** The columns of a `BookedRow`, for payments with the alias `paid`. */
export const bookedColumns = ({ late }: Pick<Dialect, 'late'>): Query =>
  sql`paid.tx, paid.paid_at, paid.endpoint, paid.payer, paid.token, paid.received, paid.worth, ${late('paid')} AS late,
    paid.finality`

export function readBooked(row: BookedRow): Booked & { readonly tx: Uint8Array } {
  const { payer, token, finality } = row
  return {
    tx: new Uint8Array(row.tx),
    paidAt: Number(row.paid_at),
    endpoint: parseText(row.endpoint),
    payer,
    token,
    received: BigInt(row.received),
    worth: row.worth === null ? undefined : BigInt(row.worth),
    late: Boolean(row.late),
    finality,
  }
}

export interface CountsRow {
  readonly payments: Whole
  readonly received: string
  readonly worth: string
  readonly unvalued: Whole
  readonly refunded: string
  readonly refunded_worth: string
}

export function readCounts(row: CountsRow): Counts {
  return {
    payments: Number(row.payments),
    received: readMoney(row.received),
    worth: readMoney(row.worth),
    unvalued: Number(row.unvalued),
    refunded: readMoney(row.refunded),
    refundedWorth: readMoney(row.refunded_worth),
  }
}

interface RefundRow extends BookedRow {
  readonly sent: string
  readonly changed_at: Whole
  readonly rates: string | null
}

/** Landed refunds with their payments, by the rule of `isRefundCounted`. */
const selectRefunds = (dialect: Dialect): Query => sql`SELECT sent, changed_at, rates, ${bookedColumns(dialect)}
  FROM {dispatches} AS refund JOIN {payments} AS paid ON paid.tx = refund.payment
  WHERE refund.kind = 'refund' AND refund.state = 'landed' AND NOT (${dialect.late('paid')})`

/** Undefined if the transaction is not a refund, or its payment is not in the books. */
export function* findRefund(dialect: Dialect, id: string): Work<RefundOfPayment | undefined> {
  // Locks the payment. A rebuild of the books locks all payments, so it counts this refund either before or after.
  const row = yield* first<RefundRow>(
    sql`${selectRefunds(dialect)} AND refund.id = ${formatText(id)} ${dialect.lock('paid')}`,
  )
  return row && readRefund(row)
}

export function* listRefunds(dialect: Dialect, [from, to]: readonly [from: number, to: number]) {
  const rows = yield* all<RefundRow>(sql`${selectRefunds(dialect)} AND changed_at >= ${from} AND changed_at < ${to}`)
  return rows.map((row) => ({ ...readRefund(row), rates: row.rates }))
}

function readRefund(row: RefundRow): RefundOfPayment {
  return { booked: readBooked(row), refund: { at: Number(row.changed_at), units: BigInt(row.sent) } }
}
