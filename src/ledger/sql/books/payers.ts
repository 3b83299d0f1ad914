/** The queries about payers, answered by the indexes of the books. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Period, Point } from '../../../core/ports/reports.ts'
import type { PayerSource } from '../../rules/payers.ts'
import { dayMs } from '../../rules/totals.ts'
import { all, type Dialect, type Query, raw, type SqlStore, sql, type Whole, type Work } from '../work.ts'
import { type CountsRow, readCounts } from './totals.ts'

type Payer = { readonly payer: string }

export function createPayers(store: SqlStore): PayerSource {
  const { late, given, topPayers, payerSums } = store.dialect
  const isCounted = sql`NOT (${late()}) AND finality <> 'reverted'`
  const inPeriod = ({ from, to }: Required<Period>): Query =>
    sql`paid_at >= ${from} AND paid_at < ${to} AND ${isCounted}`
  const asked = (payers: readonly string[]): Query => given(payers, { payer: ['text', (payer) => payer] })
  return {
    top: ({ from, to }, perDay) => {
      const days = Array.from({ length: (to - from) / dayMs }, (_, index) => from + index * dayMs)
      return store.read(() => topPayers(days, perDay))
    },
    sums: (period, payers) =>
      store.read(function* () {
        const rows = yield* all<CountsRow & Payer & { readonly token: TokenCode }>(payerSums(payers, period))
        return rows.map((row) => ({ payer: row.payer, token: row.token, ...readCounts(row) }))
      }),
    spans: (period, payers) =>
      store.read(function* () {
        const end = (way: 'ASC' | 'DESC'): Query => sql`(SELECT paid_at FROM {payments}
          WHERE payer = given.payer AND ${inPeriod(period)} ORDER BY paid_at ${raw(way)} LIMIT 1)`
        const rows = yield* all<Payer & { readonly first: Whole; readonly last: Whole }>(
          sql`SELECT payer, ${end('ASC')} AS first, ${end('DESC')} AS last FROM ${asked(payers)}`,
        )
        return rows.map(({ payer, first, last }) => ({ payer, first: Number(first), last: Number(last) }))
      }),
    walk: (period, after, most) =>
      store.read(function* () {
        const beyond = after ? sql` AND (paid_at, tx) < (${after.at}, ${after.tx})` : raw('')
        const rows = yield* all<Payer & { readonly at: Whole; readonly tx: Uint8Array }>(
          sql`SELECT payer, paid_at AS at, tx FROM {payments} WHERE ${inPeriod(period)}${beyond}
            ORDER BY paid_at DESC, tx DESC LIMIT ${most}`,
        )
        return rows.map(({ payer, at, tx }) => ({ payer, at: Number(at), tx: new Uint8Array(tx) }))
      }),
    seen: (period, payers, until) =>
      store.read(function* () {
        const rows = yield* all<Payer>(sql`SELECT payer FROM ${asked(payers)} WHERE EXISTS (SELECT 1 FROM {payments}
          WHERE payer = given.payer AND ${inPeriod(period)} AND (paid_at, tx) >= (${until.at}, ${until.tx}))`)
        return rows.map(({ payer }) => payer)
      }),
  }
}

/** The lines of one payer, by day and token. */
export function* readPayerSeries(
  { sums }: Dialect,
  payer: string,
  { from, to }: Required<Period>,
): Work<readonly Point[]> {
  const rows = yield* all<CountsRow & { readonly at: Whole; readonly token: TokenCode }>(
    sql`SELECT at, token, ${sums(false)} FROM {payers} WHERE payer = ${payer} AND at >= ${from} AND at < ${to}
      GROUP BY at, token ORDER BY at, token`,
  )
  const points = rows.map((row) => ({ at: Number(row.at), token: row.token, ...readCounts(row) }))
  // A reverted payment leaves an empty line.
  return points.filter(({ payments, refunded }) => payments !== 0 || refunded !== 0n)
}

/** The books name payers by bytes, in both databases. The list of payments has the order of its own collation. */
export function* findPayers(from: string, to: string, most: number): Work<readonly string[]> {
  const rows = yield* all<Payer>(
    sql`SELECT DISTINCT payer FROM {payers} WHERE payer >= ${from} AND payer <= ${to} ORDER BY payer LIMIT ${most}`,
  )
  return rows.map(({ payer }) => payer)
}
