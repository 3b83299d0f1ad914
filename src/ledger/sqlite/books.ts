/** The books in the ledger's SQLite file: sums are read from the rollups, and the list by its indexes. */
import type { StatementSyncInstance } from '@photostructure/sqlite'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Books, Point, UsageEvent } from '../../core/ports/reports.ts'
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
import { auditSqlite, rebuildSqlite } from './audit.ts'
import type { SqliteFile } from './file.ts'
import { createSqlitePayers } from './payers.ts'
import type { CountsRow } from './totals.ts'
import { isAny, packed, readCounts, sums, unpackCounts } from './totals.ts'

const spelling = {
  payments: 'payments',
  unclaimed: 'unclaimed',
  late: "state = 'late'",
  isUnclaimed: 'late = 0',
  isUntold: 'told = 0',
  place: () => '?',
  bytes: (tx: Uint8Array) => tx,
  // As the index of what was paid too much has it: money is text.
  isMore: (one: string, other: string) =>
    `(length(${one}) > length(${other}) OR length(${one}) = length(${other}) AND ${one} > ${other})`,
  isHeld: (time: string) => `EXISTS (SELECT 1 FROM grants WHERE payment = payments.id AND deadline > ${time})`,
}
const day = 'at - ((at % 86400000) + 86400000) % 86400000'
/** A range of lines, whose four values begin with the n-th, and of one endpoint where its value is named. */
const rangeFrom = (first: number, endpoint?: number) => `SELECT *, ?${first + 3} AS sign FROM rollups
  WHERE grain = ?${first} AND at >= ?${first + 1} AND at < ?${first + 2}${endpoint ? ` AND endpoint = ?${endpoint}` : ''}`

type LineRow = CountsRow & { readonly endpoint: string; readonly token: TokenCode }

export function createSqliteBooks(file: SqliteFile, clock: Clock): Books {
  const { db, read, write } = file
  const statements = new Map<string, StatementSyncInstance>()
  /** Prepared when it is first asked for: there is one for every combination of filters. */
  const all = <Row>({ sql, values }: Statement): readonly Row[] => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = db.prepare(sql)
      statement.setReadBigInts(true)
      statements.set(sql, statement)
    }
    return statement.all(...(values as Parameters<StatementSyncInstance['all']>)) as unknown as Row[]
  }
  const lines = (sql: string, values: readonly unknown[]) =>
    read(() =>
      all<LineRow>({ sql, values }).map((row) => ({ ...readCounts(row), token: row.token, endpoint: row.endpoint })),
    )
  const list = (payments: Statement | undefined, sightings: Statement | undefined, now: number) => {
    // In this order: what is claimed between the two is in both, and not in none.
    const seen = sightings ? all<SightingRow>(sightings).map((row) => listObservation(readSighting(row), now)) : []
    const paid = payments ? all<PaymentListRow>(payments).map(readPaymentListItem) : []
    return [paid, seen] as const
  }

  const payers = createSqlitePayers(read, all)
  const history = selectHistory(spelling, 'sightings', 'unclaimed')

  return {
    async sums(period) {
      checkPeriod(period)
      const sql = `SELECT token, '' AS endpoint, ${sums} FROM (${rangeFrom(1)}) GROUP BY token ${isAny} ORDER BY token`
      return (await lines(sql, sumRange(period))).map(({ endpoint: _, ...sum }) => sum)
    },
    async endpoints(period, most) {
      checkPeriod(period)
      const sql = `WITH lines AS MATERIALIZED (
          SELECT endpoint, token, ${sums} FROM (${[1, 5, 9].map((first) => rangeFrom(first)).join(' UNION ALL ')})
          GROUP BY endpoint, token ${isAny}),
        first AS (SELECT endpoint, sum(payments) AS total FROM lines GROUP BY endpoint
          ORDER BY total DESC, endpoint LIMIT ?13)
        SELECT lines.* FROM first JOIN lines USING (endpoint) ORDER BY total DESC, endpoint, token`
      const found = await lines(sql, [...endpointRanges(period).flat(), checkCount(most)])
      return found.map((sum) => ({ ...sum, endpoint: parseText(sum.endpoint) }))
    },
    async series({ step, endpoint, ...period }) {
      checkPeriod(period)
      const ranges = seriesRanges(period, step, endpoint !== undefined)
      const name = endpoint === undefined ? undefined : ranges.length * 4 + 1
      const sql = `SELECT group_concat(at || ' ' || token || ' ' || ${packed}, char(10)) AS points FROM (
        SELECT ${step === 'hour' ? 'at' : day} AS at, token, ${sums}
        FROM (${ranges.map((_, index) => rangeFrom(index * 4 + 1, name)).join(' UNION ALL ')})
        GROUP BY 1, token ${isAny})`
      const values = [...ranges.flat(), ...(endpoint === undefined ? [] : [formatText(endpoint)])]
      const [row] = await read(() => all<{ readonly points: string | null }>({ sql, values }))
      return (row?.points?.split('\n') ?? [])
        .map(readPoint)
        .sort((one, other) => one.at - other.at || byToken(one, other))
    },
    async listPayments(query) {
      const now = readTime(clock)
      const statement = selectSightings(query, spelling, sightingColumns, now)
      const [paid, seen] = await read(() => list(selectPayments(query, spelling), statement, now))
      return mergeLists(paid, seen, query)
    },
    async findPayment(tx) {
      checkTx(tx)
      const now = readTime(clock)
      const payment = `SELECT ${paymentColumns}, ${spelling.late} AS late FROM payments WHERE tx = ?`
      const sighting = `SELECT ${sightingColumns} FROM unclaimed WHERE tx = ? AND late = 0 AND request <> ''`
      const [paid, seen] = await read(() => list({ sql: payment, values: [tx] }, { sql: sighting, values: [tx] }, now))
      return paid[0] ?? seen[0]
    },
    async history(tx) {
      checkTx(tx)
      const now = readTime(clock)
      return read(() => {
        const [unclaimed] = all<SightingRow>({ sql: history.unclaimed, values: [tx] })
        const [registered] = all<HistoryRow>({ sql: history.registered, values: [tx] })
        const [seen] = all<{ readonly seen_at: bigint | null }>({ sql: history.seen, values: [tx] })
        return readHistory(registered, seen, unclaimed, now)
      })
    },
    payers: (query) => readPayers(payers, query),
    async problems({ kind, after, most }) {
      const now = readTime(clock)
      const wanted = { now, most: checkCount(most), ...(after && { after }) }
      const { seen, registered } = selectProblems(kind, wanted, spelling)
      const lists = await read(() => {
        const open = seen.map((statement) => all<SeenRow>(statement).map((row) => readSeen(row, now)))
        return [...registered.map((statement) => all<RegisteredRow>(statement).map(readRegistered)), ...open]
      })
      return mergeProblems(lists, wanted.most)
    },
    countProblems: (most) =>
      countEach(most, async (kind) => {
        const counted = { most: checkCount(most), now: readTime(clock), isCount: true }
        const { seen, registered } = selectProblems(kind, counted, spelling)
        const statements = [...seen, ...registered].map(readCount)
        const counts = await read(() => statements.flatMap((one) => all<{ readonly count: bigint }>(one)))
        return counts.reduce((sum, { count }) => sum + Number(count), 0)
      }),
    async count(usage) {
      const sql = `INSERT INTO usage (at, endpoint, event, count) VALUES (?, ?, ?, ?)
        ON CONFLICT (at, endpoint, event) DO UPDATE SET count = count + excluded.count`
      if (usage.length === 0) return
      await write(() => {
        for (const { at, endpoint, event, count } of usage)
          all({ sql, values: [at, formatText(endpoint), event, count] })
      })
    },
    async usage(period) {
      checkPeriod(period)
      const sql = `SELECT endpoint, event, sum(count) AS count FROM usage WHERE at >= ? AND at < ? GROUP BY endpoint, event`
      type Row = { readonly endpoint: string; readonly event: UsageEvent; readonly count: bigint }
      const rows = await read(() => all<Row>({ sql, values: computeBounds(period) }))
      return rows.map((row) => ({
        at: 0,
        endpoint: parseText(row.endpoint),
        event: row.event,
        count: Number(row.count),
      }))
    },
    audit: () => auditSqlite(file),
    rebuild: (reportToken) => rebuildSqlite(file, reportToken),
    async reportToken() {
      type Row = { readonly value: TokenCode }
      const [row] = await read(() => all<Row>({ sql: "SELECT value FROM meta WHERE key = 'reportToken'", values: [] }))
      return row?.value
    },
  }
}

/** Thousands of points as one text are read much faster than as rows. */
function readPoint(text: string): Point {
  const [at, token, ...counts] = text.split(' ')
  return { at: Number(at), token: token as TokenCode, ...unpackCounts(counts) }
}

function byToken(one: Point, other: Point): number {
  return one.token < other.token ? -1 : 1
}
