/** The books in the ledger's PostgreSQL database: sums are read from the rollups, and the list by its indexes. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Books, UsageEvent } from '../../core/ports/reports.ts'
import type { Clock } from '../../core/runtime.ts'
import { checkTx, readTime } from '../rules/grants.ts'
import type { SightingRow } from '../rules/observations.ts'
import { readSighting, sightingColumns } from '../rules/observations.ts'
import { readPayers } from '../rules/payers.ts'
import { listObservation, mergeLists } from '../rules/payment-list.ts'
import { checkCount, checkPeriod, computeBounds, endpointRanges, seriesRanges, sumRange } from '../rules/periods.ts'
import { countEach, mergeProblems } from '../rules/problems.ts'
import type { PaymentListRow, Statement } from '../sql/payment-list.ts'
import { paymentColumns, readPaymentListItem, selectPayments, selectSightings } from '../sql/payment-list.ts'
import type { HistoryRow, RegisteredRow, SeenRow } from '../sql/problems.ts'
import { readCount, readHistory, readRegistered, readSeen, selectHistory, selectProblems } from '../sql/problems.ts'
import { formatText, parseText } from '../stored-text.ts'
import { auditPostgres, rebuildPostgres } from './audit.ts'
import type { Database } from './database.ts'
import { isUnclaimed } from './effects.ts'
import { createPostgresPayers } from './payers.ts'
import { formatHex, isHeldAt } from './rows.ts'
import type { PostgresCountsRow } from './totals.ts'
import { countColumns, isAny, readCounts, sums } from './totals.ts'

const spelling = {
  payments: 'paystile_payments',
  unclaimed: 'paystile_unclaimed AS seen',
  late: 'late',
  isUnclaimed: `NOT late AND ${isUnclaimed(false)}`,
  isUntold: 'NOT told',
  place: (number: number) => `$${number}`,
  bytes: formatHex,
  isMore: (one: string, other: string) => `${one} > ${other}`,
  isHeld: isHeldAt,
}
/** A range of lines, whose four values begin with the n-th, and of one endpoint where its value is named. */
const rangeFrom = (first: number, endpoint?: number) => `SELECT at, endpoint, token,
    ${countColumns.map((name) => `sign * ${name} AS ${name}`).join(', ')}
  FROM paystile_rollups CROSS JOIN (SELECT $${first + 3}::bigint AS sign) AS signed
  WHERE grain = $${first} AND at >= $${first + 1} AND at < $${first + 2}${endpoint ? ` AND endpoint = $${endpoint}` : ''}`
const count = `INSERT INTO paystile_usage AS kept (at, endpoint, event, lane, count)
  SELECT at, endpoint, event, $5, sum(count) FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    AS given (at, endpoint, event, count) GROUP BY at, endpoint, event ORDER BY at, endpoint, event
  ON CONFLICT (at, endpoint, event, lane) DO UPDATE SET count = kept.count + excluded.count`

type LineRow = PostgresCountsRow & { readonly at: string; readonly endpoint: string; readonly token: TokenCode }

export function createPostgresBooks(database: Database, clock: Clock, lane: number): Books {
  const all = async <Row>(sql: string, values: readonly unknown[] = []) =>
    (await database.query(sql, values)) as unknown as readonly Row[]
  const list = async (payments: Statement | undefined, sightings: Statement | undefined, now: number) => {
    // In this order: what is claimed between the two is in both, and not in none.
    const seen = sightings ? await all<SightingRow>(sightings.sql, sightings.values) : []
    const paid = payments ? await all<PaymentListRow>(payments.sql, payments.values) : []
    return [paid.map(readPaymentListItem), seen.map((row) => listObservation(readSighting(row), now))] as const
  }

  const each = async <Row>(statements: readonly Statement[]): Promise<readonly Row[]> =>
    (await Promise.all(statements.map(({ sql, values }) => all<Row>(sql, values)))).flat()
  const payers = createPostgresPayers(all)
  const history = selectHistory(spelling, 'paystile_sightings', 'paystile_unclaimed')

  return {
    async sums(period) {
      checkPeriod(period)
      const sql = `SELECT token, ${sums} FROM (${rangeFrom(1)}) AS lines GROUP BY token ${isAny}
        ORDER BY token`
      return (await all<LineRow>(sql, sumRange(period))).map((row) => ({ token: row.token, ...readCounts(row) }))
    },
    async endpoints(period, most) {
      checkPeriod(period)
      const sql = `WITH lines AS MATERIALIZED (
          SELECT endpoint, token, ${sums} FROM (${[1, 5, 9].map((first) => rangeFrom(first)).join(' UNION ALL ')}) AS ranges
          GROUP BY endpoint, token ${isAny}),
        first AS (SELECT endpoint, sum(payments) AS total FROM lines GROUP BY endpoint
          ORDER BY total DESC, endpoint LIMIT $13)
        SELECT lines.* FROM first JOIN lines USING (endpoint) ORDER BY total DESC, endpoint, token`
      const rows = await all<LineRow>(sql, [...endpointRanges(period).flat(), checkCount(most)])
      return rows.map((row) => ({ endpoint: parseText(row.endpoint), token: row.token, ...readCounts(row) }))
    },
    async series({ step, endpoint, ...period }) {
      checkPeriod(period)
      const at = step === 'hour' ? 'at' : 'floor(at / 86400000.0) * 86400000'
      const ranges = seriesRanges(period, step, endpoint !== undefined)
      const name = endpoint === undefined ? undefined : ranges.length * 4 + 1
      const sql = `SELECT ${at} AS at, token, ${sums}
        FROM (${ranges.map((_, index) => rangeFrom(index * 4 + 1, name)).join(' UNION ALL ')}) AS ranges
        GROUP BY 1, token ${isAny} ORDER BY 1, token`
      const rows = await all<LineRow>(sql, [
        ...ranges.flat(),
        ...(endpoint === undefined ? [] : [formatText(endpoint)]),
      ])
      return rows.map((row) => ({ at: Number(row.at), token: row.token, ...readCounts(row) }))
    },
    async listPayments(query) {
      const now = readTime(clock)
      const sightings = selectSightings(query, spelling, sightingColumns, now)
      const [paid, seen] = await list(selectPayments(query, spelling), sightings, now)
      return mergeLists(paid, seen, query)
    },
    async findPayment(tx) {
      checkTx(tx)
      const values = [formatHex(tx)]
      const payment = `SELECT ${paymentColumns}, late FROM paystile_payments WHERE tx = $1`
      const sighting = `SELECT ${sightingColumns} FROM paystile_unclaimed WHERE tx = $1 AND NOT late AND request <> ''`
      const [paid, seen] = await list({ sql: payment, values }, { sql: sighting, values }, readTime(clock))
      return paid[0] ?? seen[0]
    },
    async history(tx) {
      checkTx(tx)
      const key = formatHex(tx)
      const [unclaimed] = await all<SightingRow>(history.unclaimed, [key])
      const [registered] = await all<HistoryRow>(history.registered, [key])
      const [seen] = await all<{ readonly seen_at: string | null }>(history.seen, [key])
      return readHistory(registered, seen, unclaimed, readTime(clock))
    },
    payers: (query) => readPayers(payers, query),
    async problems({ kind, after, most }) {
      const now = readTime(clock)
      const wanted = { now, most: checkCount(most), ...(after && { after }) }
      const { seen, registered } = selectProblems(kind, wanted, spelling)
      const open = await each<SeenRow>(seen)
      const kept = await each<RegisteredRow>(registered)
      const lists = [kept.map(readRegistered), open.map((row) => readSeen(row, now))]
      return mergeProblems(lists, wanted.most)
    },
    countProblems: (most) =>
      countEach(most, async (kind) => {
        const counted = { most: checkCount(most), now: readTime(clock), isCount: true }
        const { seen, registered } = selectProblems(kind, counted, spelling)
        const counts = await each<{ readonly count: string }>([...seen, ...registered].map(readCount))
        return counts.reduce((sum, { count }) => sum + Number(count), 0)
      }),
    async count(usage) {
      if (usage.length === 0) return
      await all(count, [
        usage.map(({ at }) => at),
        usage.map(({ endpoint }) => formatText(endpoint)),
        usage.map(({ event }) => event),
        usage.map((one) => one.count),
        lane,
      ])
    },
    async usage(period) {
      checkPeriod(period)
      type Row = { readonly endpoint: string; readonly event: UsageEvent; readonly count: string }
      const sql =
        'SELECT endpoint, event, sum(count) AS count FROM paystile_usage WHERE at >= $1 AND at < $2 GROUP BY endpoint, event'
      const rows = await all<Row>(sql, computeBounds(period))
      return rows.map((row) => ({
        at: 0,
        endpoint: parseText(row.endpoint),
        event: row.event,
        count: Number(row.count),
      }))
    },
    audit: () => auditPostgres(database),
    rebuild: (reportToken) => rebuildPostgres(database, reportToken),
    async reportToken() {
      const [row] = await all<{ readonly value: TokenCode }>(
        "SELECT value FROM paystile_meta WHERE key = 'reportToken'",
      )
      return row?.value
    },
  }
}
