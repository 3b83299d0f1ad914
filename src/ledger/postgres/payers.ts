/** What is asked about payers, of the ledger's PostgreSQL database. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { PayerSource } from '../rules/payers.ts'
import { dayMs } from '../rules/totals.ts'
import { formatHex } from './rows.ts'
import type { PostgresCountsRow } from './totals.ts'
import { isAny, readCounts, sums } from './totals.ts'

const counted = "NOT late AND finality <> 'reverted'"
const inPeriod = `paid_at >= $2 AND paid_at < $3 AND ${counted}`
const end = (way: 'ASC' | 'DESC') =>
  `(SELECT paid_at FROM paystile_payments WHERE payer = asked.payer AND ${inPeriod} ORDER BY paid_at ${way} LIMIT 1)`

const top = `SELECT DISTINCT most.payer FROM generate_series($1::bigint, $2::bigint - 1, ${dayMs}) AS day (at)
  CROSS JOIN LATERAL (SELECT payer FROM paystile_payers AS line WHERE line.at = day.at AND payments > 0
    ORDER BY worth DESC LIMIT $3) AS most`
// One by one: of many at once the planner might rather look through the whole table.
const summed = `SELECT asked.payer, own.* FROM unnest($1::text[]) AS asked (payer) CROSS JOIN LATERAL (
    SELECT token, ${sums} FROM paystile_payers AS line
    WHERE line.payer = asked.payer AND at >= $2 AND at < $3 GROUP BY token ${isAny}) AS own`
const spans = `SELECT payer, ${end('ASC')} AS first, ${end('DESC')} AS last FROM unnest($1::text[]) AS asked (payer)`
const walk = (beyond: string) => `SELECT payer, paid_at AS at, tx FROM paystile_payments
  WHERE paid_at >= $1 AND paid_at < $2 AND ${counted}${beyond} ORDER BY paid_at DESC, tx DESC LIMIT $3`
const seen = `SELECT payer FROM unnest($1::text[]) AS asked (payer) WHERE EXISTS (
  SELECT FROM paystile_payments WHERE payer = asked.payer AND ${inPeriod} AND (paid_at, tx) >= ($4, $5))`

type Payer = { readonly payer: string }
type All = <Row>(sql: string, values: readonly unknown[]) => Promise<readonly Row[]>

export function createPostgresPayers(all: All): PayerSource {
  return {
    top: async ({ from, to }, perDay) => (await all<Payer>(top, [from, to, perDay])).map(({ payer }) => payer),
    sums: async ({ from, to }, payers) => {
      const rows = await all<PostgresCountsRow & Payer & { readonly token: TokenCode }>(summed, [payers, from, to])
      return rows.map((row) => ({ payer: row.payer, token: row.token, ...readCounts(row) }))
    },
    spans: async ({ from, to }, payers) => {
      const rows = await all<Payer & { readonly first: string; readonly last: string }>(spans, [payers, from, to])
      return rows.map(({ payer, first, last }) => ({ payer, first: Number(first), last: Number(last) }))
    },
    walk: async ({ from, to }, after, most) => {
      const sql = walk(after ? ' AND (paid_at, tx) < ($4, $5)' : '')
      const values = [from, to, most, ...(after ? [after.at, formatHex(after.tx)] : [])]
      const rows = await all<Payer & { readonly at: string; readonly tx: Uint8Array }>(sql, values)
      return rows.map(({ payer, at, tx }) => ({ payer, at: Number(at), tx: new Uint8Array(tx) }))
    },
    seen: async ({ from, to }, payers, until) =>
      (await all<Payer>(seen, [payers, from, to, until.at, formatHex(until.tx)])).map(({ payer }) => payer),
  }
}
