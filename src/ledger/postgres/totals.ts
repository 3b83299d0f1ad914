/** The lines of the books in PostgreSQL, and the columns of a payment that they go by. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Finality } from '../rules/grants.ts'
import type { Booked, Counts, Line } from '../rules/totals.ts'
import { parseText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { addToKept, addToPayers, isPayer, keyValues } from './effects.ts'

export const bookedColumns = 'tx, paid_at, endpoint, payer, token, received, worth, late, finality'

export interface PostgresBookedRow {
  readonly tx: Uint8Array
  readonly paid_at: string
  readonly endpoint: string
  readonly payer: string
  readonly token: TokenCode
  readonly received: string
  readonly worth: string | null
  readonly late: boolean
  readonly finality: Finality
}

export function readBooked({ tx, paid_at, endpoint, received, worth, ...row }: PostgresBookedRow) {
  return {
    ...row,
    tx: new Uint8Array(tx),
    paidAt: Number(paid_at),
    endpoint: parseText(endpoint),
    received: BigInt(received),
    worth: worth === null ? undefined : BigInt(worth),
  } satisfies Booked & { readonly tx: Uint8Array }
}

export interface PostgresCountsRow {
  readonly payments: string
  readonly received: string
  readonly worth: string
  readonly unvalued: string
  readonly refunded: string
  readonly refunded_worth: string
}

export const countColumns = ['payments', 'received', 'worth', 'unvalued', 'refunded', 'refunded_worth'] as const
const counted = countColumns.join(', ')
export const sums = countColumns.map((name) => `sum(${name}) AS ${name}`).join(', ')
/** Of lines that are grouped: something was paid, or sent back. */
export const isAny = 'HAVING sum(payments) <> 0 OR sum(refunded) <> 0'

export function readCounts(row: PostgresCountsRow): Counts {
  return {
    payments: Number(row.payments),
    received: BigInt(row.received),
    worth: BigInt(row.worth),
    unvalued: Number(row.unvalued),
    refunded: BigInt(row.refunded),
    refundedWorth: BigInt(row.refunded_worth),
  }
}

const given = `FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::numeric[], $7::numeric[], $8::bigint[],
    $9::numeric[], $10::numeric[]) WITH ORDINALITY AS line (grain, at, endpoint, token, ${counted}, number)`
const add = `INSERT INTO paystile_rollups AS kept (grain, at, endpoint, token, lane, ${counted})
  SELECT grain, at, endpoint, token, $11, ${counted} ${given} WHERE NOT grain ${isPayer} ORDER BY number
  ${addToKept}`
const addPayers = `INSERT INTO paystile_payers AS kept (payer, at, token, lane, ${counted})
  SELECT endpoint, at, token, $11, ${counted} ${given} WHERE grain ${isPayer} ORDER BY number
  ${addToPayers}`

/** In the order in which they are given, which has to be that of `linesOf`. */
export async function addLines(query: Database['query'], lines: readonly Line[], lane: number): Promise<void> {
  if (lines.length === 0) return
  const values = [
    ...keyValues(lines),
    lines.map(({ payments }) => payments),
    lines.map(({ received }) => String(received)),
    lines.map(({ worth }) => String(worth)),
    lines.map(({ unvalued }) => unvalued),
    lines.map(({ refunded }) => String(refunded)),
    lines.map(({ refundedWorth }) => String(refundedWorth)),
    lane,
  ]
  for (const statement of [add, addPayers]) await query(statement, values)
}
