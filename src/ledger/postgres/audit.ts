/** The books in PostgreSQL, counted again and, if so asked, written anew. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PaymentListMark } from '../../core/ports/reports.ts'
import { compareBooks, recount } from '../rules/audit.ts'
import { revalued } from '../rules/revaluation.ts'
import type { Grain, Line } from '../rules/totals.ts'
import { parseRates, parseText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { readRefund, readRefunds } from './refunds.ts'
import { formatHex } from './rows.ts'
import type { PostgresBookedRow, PostgresCountsRow } from './totals.ts'
import { addLines, bookedColumns, readBooked, readCounts, sums } from './totals.ts'

const pageSize = 5_000
const setWorth = `UPDATE paystile_payments AS kept SET worth = given.worth, version = version + 1
  FROM unnest($1::bytea[], $2::numeric[]) AS given (tx, worth) WHERE kept.tx = given.tx`
const remember = `INSERT INTO paystile_meta (key, value) VALUES ('reportToken', $1)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

type LineRow = PostgresCountsRow & {
  readonly grain: Grain
  readonly at: string
  readonly endpoint: string
  readonly token: TokenCode
}

type Query = Database['query']

/** Everything as it was at one moment, while others go on writing. */
export function auditPostgres(database: Database): Promise<readonly Discrepancy[]> {
  return database.transact(async (query) => {
    await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    return compareBooks(
      async (after) => (await readPage(query, after)).map(readBooked),
      (span) => readLines(query, span),
      async (span) => (await readRefunds(query, span)).map(readRefund),
    )
  })
}

async function readPage(query: Query, after: PaymentListMark | undefined) {
  const beyond = after ? 'WHERE (paid_at, tx) > ($1, $2)' : ''
  const sql = `SELECT ${bookedColumns}, rates FROM paystile_payments ${beyond} ORDER BY paid_at, tx LIMIT ${pageSize}`
  const rows = await query(sql, after ? [after.at, formatHex(after.tx)] : [])
  return rows as unknown as readonly (PostgresBookedRow & { readonly rates: string | null })[]
}

async function readLines(query: Query, span: readonly [from: number, to: number] | 'timeless'): Promise<Line[]> {
  const isOwn =
    span === 'timeless'
      ? "grain IN ('all', 'endpoint')"
      : "grain IN ('hour', 'hour_endpoint', 'day_endpoint') AND at >= $1 AND at < $2"
  const sql = `SELECT grain, at, endpoint, token, ${sums} FROM paystile_rollups WHERE ${isOwn} GROUP BY grain, at, endpoint, token`
  const payers = `SELECT 'day_payer' AS grain, at, payer AS endpoint, token, ${sums} FROM paystile_payers
    WHERE at >= $1 AND at < $2 GROUP BY at, payer, token`
  const lines = await query(sql, span === 'timeless' ? [] : span)
  const rows = [...lines, ...(span === 'timeless' ? [] : await query(payers, span))] as unknown as LineRow[]
  return rows.map((row) => ({
    grain: row.grain,
    at: Number(row.at),
    endpoint: row.grain === 'day_payer' ? row.endpoint : parseText(row.endpoint),
    token: row.token,
    ...readCounts(row),
  }))
}

/**
 * Registrations wait for its end, and those that wait longer than a statement may take are told that the ledger cannot be
 * used: about twenty seconds for a million payments. To be done while nobody pays.
 */
export async function rebuildPostgres(database: Database, reportToken: TokenCode): Promise<void> {
  await database.transact(async (query) => {
    await query('LOCK TABLE paystile_payments IN EXCLUSIVE MODE', [], { timeoutMs: lockMs })
    const [remembered] = await query("SELECT value FROM paystile_meta WHERE key = 'reportToken'")
    const before = remembered?.['value'] as TokenCode | undefined
    for (const table of ['rollups', 'payers']) await query(`DELETE FROM paystile_${table}`, [], { timeoutMs: lockMs })
    const revalue = async (after: PaymentListMark | undefined) => {
      const page = (await readPage(query, after)).map((row) => {
        const booked = readBooked(row)
        const worth = revalued({ ...booked, rates: parseRates(row.rates) }, before, reportToken)
        return { ...booked, worth, isNew: worth !== booked.worth }
      })
      const changed = page.filter(({ isNew }) => isNew)
      const worths = changed.map(({ worth }) => (worth === undefined ? null : String(worth)))
      if (changed.length > 0) await query(setWorth, [changed.map(({ tx }) => formatHex(tx)), worths])
      return page
    }
    const refunds = async (span: readonly [from: number, to: number]) =>
      (await readRefunds(query, span)).map((row) => {
        const { booked, refund } = readRefund(row)
        // Its payment may be revalued later: when it was paid is told by another clock than when it was sent back.
        const worth = revalued({ ...booked, rates: parseRates(row.rates) }, before, reportToken)
        return { booked: { ...booked, worth }, refund }
      })
    for await (const { lines } of recount(revalue, refunds)) await addLines(query, lines, 0)
    await query(remember, [reportToken])
  })
}

const lockMs = 60_000
