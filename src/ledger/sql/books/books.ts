/** The books: totals are read from the rollups, and the payment list by its indexes. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Books, Point, UsageEvent } from '../../../core/ports/reports.ts'
import type { Clock } from '../../../core/runtime.ts'
import { checkTx, readTime } from '../../rules/grants.ts'
import { readPayers } from '../../rules/payers.ts'
import { mergeLists } from '../../rules/payment-list.ts'
import type { Range } from '../../rules/periods.ts'
import {
  checkCount,
  checkDays,
  checkPeriod,
  computeBounds,
  endpointRanges,
  seriesRanges,
  sumRange,
} from '../../rules/periods.ts'
import { countEach, mergeProblems } from '../../rules/problems.ts'
import { formatText, parseText } from '../../stored-text.ts'
import { all, first, join, type Query, raw, type SqlStore, sql, type Whole, type Work } from '../work.ts'
import { auditBooks, readReportToken, rebuildBooks } from './audit.ts'
import { createPayers, findPayers, readPayerSeries } from './payers.ts'
import {
  type ListedSightingRow,
  listColumns,
  observationColumns,
  type PaymentListRow,
  readObservation,
  readPaymentListItem,
  selectPayments,
  selectSightings,
  sumLists,
} from './payment-list.ts'
import { findHistory, type RegisteredRow, readRegistered, readSeen, type SeenRow, selectProblems } from './problems.ts'
import { type CountsRow, readCounts } from './totals.ts'

const day = raw('at - ((at % 86400000) + 86400000) % 86400000')

type LineRow = CountsRow & { readonly endpoint: string; readonly token: TokenCode }

export function createBooks(store: SqlStore, clock: Clock): Books {
  return {
    ...createSums(store),
    ...createLists(store, clock),
    audit: () => auditBooks(store),
    rebuild: (reportToken) => rebuildBooks(store, reportToken),
    reportToken: () => store.read(readReportToken),
  }
}

function createSums(
  store: SqlStore,
): Pick<Books, 'sums' | 'endpoints' | 'series' | 'countUndelivered' | 'count' | 'usage'> {
  const { dialect } = store
  const { countColumns, isAnyCounted } = dialect
  const sums = dialect.sums(true)
  /** The lines of several ranges with their signs; only those of `endpoint`, if it is given. */
  const linesIn = (ranges: readonly Range[], endpoint?: string): Query => {
    const isOwn = endpoint === undefined ? raw('') : sql` AND endpoint = ${formatText(endpoint)}`
    const selects = ranges.map(
      ([grain, from, to, sign]) => sql`SELECT at, endpoint, token, CAST(${sign} AS bigint) AS sign, ${countColumns}
        FROM {rollups} WHERE grain = ${grain} AND at >= ${from} AND at < ${to}${isOwn}`,
    )
    return sql`(${join(selects, ' UNION ALL ')}) AS ranges`
  }

  return {
    async sums(period) {
      checkPeriod(period)
      const rows = await store.read(() =>
        all<LineRow>(sql`SELECT token, ${sums} FROM ${linesIn([sumRange(period)])} GROUP BY token ${isAnyCounted}
          ORDER BY token`),
      )
      return rows.map((row) => ({ token: row.token, ...readCounts(row) }))
    },
    async endpoints(period, most) {
      checkPeriod(period)
      const rows = await store.read(() =>
        all<LineRow>(sql`WITH lines AS MATERIALIZED (
            SELECT endpoint, token, ${sums} FROM ${linesIn(endpointRanges(period))} GROUP BY endpoint, token ${isAnyCounted}),
          first AS (SELECT endpoint, sum(payments) AS total FROM lines GROUP BY endpoint
            ORDER BY total DESC, endpoint LIMIT ${checkCount(most)})
          SELECT lines.* FROM first JOIN lines USING (endpoint) ORDER BY total DESC, endpoint, token`),
      )
      return rows.map((row) => ({ endpoint: parseText(row.endpoint), token: row.token, ...readCounts(row) }))
    },
    async series({ step, endpoint, ...period }) {
      checkPeriod(period)
      const lines = linesIn(seriesRanges(period, step, endpoint !== undefined), endpoint)
      const at = step === 'hour' ? raw('at') : day
      // Thousands of points are read much faster as one text than as rows.
      const row = await store.read(() =>
        first<{
          readonly points: string | null
        }>(sql`SELECT string_agg(concat_ws(' ', at, token, payments, received, worth,
            unvalued, refunded, refunded_worth), ';') AS points
          FROM (SELECT ${at} AS at, token, ${sums} FROM ${lines} GROUP BY 1, token ${isAnyCounted}) AS points`),
      )
      const points = row?.points?.split(';').map(readPoint) ?? []
      return points.sort((one, other) => one.at - other.at || (one.token < other.token ? -1 : 1))
    },
    async countUndelivered(period) {
      checkPeriod(period)
      const [from, to] = computeBounds(period)
      type Row = { readonly endpoint: string; readonly count: Whole }
      const rows = await store.read(() =>
        all<Row>(sql`SELECT endpoint, count(*) AS count FROM {payments} WHERE undelivered_at IS NOT NULL
          AND NOT (${dialect.late()}) AND finality <> 'reverted' AND paid_at >= ${from} AND paid_at < ${to}
          GROUP BY endpoint`),
      )
      return rows.map(({ endpoint, count }) => ({ endpoint: parseText(endpoint), count: Number(count) }))
    },
    async count(usage) {
      if (usage.length > 0) await store.write(() => dialect.addUsage(usage))
    },
    async usage(period) {
      checkPeriod(period)
      const [from, to] = computeBounds(period)
      type Row = { readonly endpoint: string; readonly event: UsageEvent; readonly count: Whole }
      const rows = await store.read(() =>
        all<Row>(sql`SELECT endpoint, event, sum(count) AS count FROM {usage} WHERE at >= ${from} AND at < ${to}
          GROUP BY endpoint, event`),
      )
      return rows.map(({ endpoint, event, count }) => ({
        at: 0,
        endpoint: parseText(endpoint),
        event,
        count: Number(count),
      }))
    },
  }
}

type Lists = Omit<Books, keyof ReturnType<typeof createSums> | 'audit' | 'rebuild' | 'reportToken'>

function createLists(store: SqlStore, clock: Clock): Lists {
  const { dialect } = store
  const payers = createPayers(store)
  const list = function* (payments: Query | undefined, sightings: Query | undefined, now: number) {
    // In this order, a payment that is claimed between the two reads is in both results, and never in neither.
    const seen = sightings ? yield* all<ListedSightingRow>(sightings) : []
    const paid = payments ? yield* all<PaymentListRow>(payments) : []
    return [paid.map(readPaymentListItem), seen.map((row) => readObservation(row, now))] as const
  }

  return {
    async listPayments(query) {
      const now = readTime(clock)
      const [payments, sightings] = [selectPayments(query, dialect), selectSightings(query, dialect, now)]
      const [paid, seen] = await store.read(() => list(payments, sightings, now))
      return mergeLists(paid, seen, query)
    },
    async sumPayments(query) {
      const now = readTime(clock)
      return store.read(() => sumLists(query, dialect, now))
    },
    async findTransactions(from, to, most) {
      checkTx(from)
      checkTx(to)
      const isOwn = sql`tx >= ${from} AND tx <= ${to}`
      const rows = await store.read(() =>
        all<{ readonly tx: Uint8Array }>(sql`SELECT tx FROM {payments} WHERE ${isOwn}
          UNION SELECT tx FROM {unclaimed} WHERE ${isOwn} AND ${dialect.not('late')} AND request <> ''
          ORDER BY tx LIMIT ${checkCount(most)}`),
      )
      return rows.map(({ tx }) => new Uint8Array(tx))
    },
    async findPayment(tx) {
      checkTx(tx)
      const payment = sql`SELECT ${listColumns(dialect)} FROM {payments} WHERE tx = ${tx}`
      const sighting = sql`SELECT ${observationColumns(dialect)} FROM {unclaimed} AS seen
        WHERE tx = ${tx} AND ${dialect.not('late')} AND request <> ''`
      const [paid, seen] = await store.read(() => list(payment, sighting, readTime(clock)))
      return paid[0] ?? seen[0]
    },
    async history(tx) {
      checkTx(tx)
      return store.read(() => findHistory(dialect, tx, readTime(clock)))
    },
    payers: (query) => readPayers(payers, query),
    async payerSeries({ payer, from, to }) {
      checkDays({ from, to })
      return store.read(() => readPayerSeries(dialect, payer, { from, to }))
    },
    findPayers: (from, to, most) => store.read(() => findPayers(from, to, checkCount(most))),
    async problems({ kind, after, most }) {
      const now = readTime(clock)
      const wanted = { now, most: checkCount(most), ...(after && { after }) }
      const { seen, registered } = selectProblems(kind, wanted, dialect)
      const lists = await store.read(function* () {
        const open = yield* each<SeenRow>(seen)
        const kept = yield* each<RegisteredRow>(registered)
        return [kept.map(readRegistered), open.map((row) => readSeen(row, now))]
      })
      return mergeProblems(lists, wanted.most)
    },
    countProblems: (most) =>
      countEach(most, async (kind) => {
        const counted = { most: checkCount(most), now: readTime(clock), isCount: true }
        const { seen, registered } = selectProblems(kind, counted, dialect)
        const counts = [...seen, ...registered].map((query) => sql`SELECT count(*) AS count FROM (${query}) AS found`)
        const rows = await store.read(() => each<{ readonly count: Whole }>(counts))
        return rows.reduce((sum, { count }) => sum + Number(count), 0)
      }),
  }
}

function* each<Row>(queries: readonly Query[]): Work<readonly Row[]> {
  const rows: Row[] = []
  for (const query of queries) rows.push(...(yield* all<Row>(query)))
  return rows
}

function readPoint(text: string): Point {
  const [at, token, payments = '0', received = '0', worth = '0', unvalued = '0', refunded = '0', refunded_worth = '0'] =
    text.split(' ')
  const counts = readCounts({ payments, received, worth, unvalued, refunded, refunded_worth })
  return { at: Number(at), token: token as TokenCode, ...counts }
}
