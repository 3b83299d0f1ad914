/** What is asked about payers, of the ledger's SQLite file. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { PayerSource } from '../rules/payers.ts'
import { dayMs } from '../rules/totals.ts'
import type { Statement } from '../sql/payment-list.ts'
import type { SqliteFile } from './file.ts'
import type { CountsRow } from './totals.ts'
import { isAny, readCounts, sums } from './totals.ts'

const counted = "state = 'valid' AND finality <> 'reverted'"
const inPeriod = `paid_at >= ?2 AND paid_at < ?3 AND ${counted}`

type All = <Row>(statement: Statement) => readonly Row[]
type Payer = { readonly payer: string }

export function createSqlitePayers(read: SqliteFile['read'], all: All): PayerSource {
  const ofDay = 'SELECT payer FROM payers WHERE at = ? AND payments > 0 ORDER BY worth_hi DESC, worth_lo DESC LIMIT ?'
  const summed = `SELECT payer, token, ${sums} FROM (
      SELECT payers.*, 1 AS sign FROM json_each(?1) JOIN payers ON payer = value AND at >= ?2 AND at < ?3)
    GROUP BY payer, token ${isAny}`
  const end = (way: 'ASC' | 'DESC') =>
    `(SELECT paid_at FROM payments WHERE payer = value AND ${inPeriod} ORDER BY paid_at ${way} LIMIT 1)`
  const spans = `SELECT value AS payer, ${end('ASC')} AS first, ${end('DESC')} AS last FROM json_each(?1)`
  const walk = (beyond: string) => `SELECT payer, paid_at AS at, tx FROM payments
    WHERE paid_at >= ?1 AND paid_at < ?2 AND ${counted}${beyond} ORDER BY paid_at DESC, tx DESC LIMIT ?3`
  const seen = `SELECT value AS payer FROM json_each(?1) WHERE EXISTS (
    SELECT 1 FROM payments WHERE payer = value AND ${inPeriod} AND (paid_at, tx) >= (?4, ?5))`

  return {
    top: ({ from, to }, perDay) =>
      read(() => {
        const days = Array.from({ length: (to - from) / dayMs }, (_, index) => from + index * dayMs)
        return days.flatMap((day) => all<Payer>({ sql: ofDay, values: [day, perDay] }).map(({ payer }) => payer))
      }),
    sums: ({ from, to }, payers) =>
      read(() =>
        all<CountsRow & Payer & { readonly token: TokenCode }>({
          sql: summed,
          values: [JSON.stringify(payers), from, to],
        }).map((row) => ({ payer: row.payer, token: row.token, ...readCounts(row) })),
      ),
    spans: ({ from, to }, payers) =>
      read(() =>
        all<Payer & { readonly first: bigint; readonly last: bigint }>({
          sql: spans,
          values: [JSON.stringify(payers), from, to],
        }).map(({ payer, first, last }) => ({ payer, first: Number(first), last: Number(last) })),
      ),
    walk: ({ from, to }, after, most) =>
      read(() => {
        const sql = walk(after ? ' AND (paid_at, tx) < (?4, ?5)' : '')
        const values = [from, to, most, ...(after ? [after.at, after.tx] : [])]
        const rows = all<Payer & { readonly at: bigint; readonly tx: Uint8Array }>({ sql, values })
        return rows.map(({ payer, at, tx }) => ({ payer, at: Number(at), tx: new Uint8Array(tx) }))
      }),
    seen: ({ from, to }, payers, until) =>
      read(() =>
        all<Payer>({ sql: seen, values: [JSON.stringify(payers), from, to, until.at, until.tx] }).map(
          ({ payer }) => payer,
        ),
      ),
  }
}
