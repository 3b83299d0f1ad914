/** The PostgreSQL syntax of the shared statements. */
import type { Usage } from '../../core/ports/reports.ts'
import { all, type Columns, type Dialect, raw, sql } from '../sql/work.ts'
import { formatText } from '../stored-text.ts'
import { isUnclaimed, noticeId } from './effects.ts'
import { noteSightings } from './observed-payments.ts'
import { isHeldAt } from './payments-and-grants.ts'
import { addLines, countColumns, sums } from './totals.ts'
import { createTable } from './values-table.ts'

/** The longest wait for running registrations. After it, the refund is postponed. */
const lockMs = 1_000

/** `lane` is the lane of this server in the books and the usage counters. */
export const createPostgresDialect = (lane: number): Dialect => ({
  late: (table) => raw(table === undefined ? 'late' : `${table}.late`),
  not: (column) => raw(`NOT ${column}`),
  isUnclaimed: (seen, orLate = false) => raw(isUnclaimed(orLate, seen)),
  isHeld: (now) => {
    const [before = '', after = ''] = isHeldAt('?').split('?')
    return sql`${raw(before)}${now}${raw(after)}`
  },
  lock: (of) => raw(of === undefined ? 'FOR UPDATE' : `FOR UPDATE OF ${of}`),
  skipLocked: raw('FOR UPDATE SKIP LOCKED'),
  isMore: (one, other) => raw(`${one} > ${other}`),
  isAtLeast: (column, units) => sql`${raw(column)} >= ${String(units)}`,
  largest: (column) => raw(`${column} DESC`),
  total: (column) => raw(`coalesce(sum(${column}), 0)`),
  given: createTable,
  noticeId: raw(noticeId),
  noteSightings,
  nextVersion: raw(', version = version + 1'),
  countColumns: raw(countColumns.join(', ')),
  sums: (isSigned) => raw(sums(isSigned ? 'sign * ' : '')),
  isAnyCounted: raw('HAVING sum(sign * payments) <> 0 OR sum(sign * refunded) <> 0'),
  addLines: (lines) => addLines(lines, lane),
  *addUsage(usage) {
    const columns: Columns<Usage> = {
      at: ['bigint', ({ at }) => at],
      endpoint: ['text', ({ endpoint }) => formatText(endpoint)],
      event: ['text', ({ event }) => event],
      count: ['bigint', ({ count }) => count],
    }
    yield sql`INSERT INTO {usage} AS kept (at, endpoint, event, lane, count)
      SELECT at, endpoint, event, ${raw(String(lane))}, sum(count) FROM ${createTable(usage, columns)}
      GROUP BY at, endpoint, event ORDER BY at, endpoint, event
      ON CONFLICT (at, endpoint, event, lane) DO UPDATE SET count = kept.count + excluded.count`
  },
  *topPayers(days, perDay) {
    const rows = yield* all<{ readonly payer: string }>(sql`SELECT DISTINCT most.payer
      FROM ${createTable(days, { day: ['bigint', (day) => day] })} CROSS JOIN LATERAL (SELECT payer FROM {payers} AS line
        WHERE line.at = given.day AND payments > 0 ORDER BY worth DESC LIMIT ${perDay}) AS most`)
    return rows.map(({ payer }) => payer)
  },
  // One payer at a time: for many at once, the planner might scan the whole table.
  payerSums: (payers, { from, to }) => sql`SELECT given.payer, own.*
    FROM ${createTable(payers, { payer: ['text', (payer) => payer] })} CROSS JOIN LATERAL (
      SELECT token, ${raw(sums(''))} FROM {payers} AS line WHERE line.payer = given.payer AND at >= ${from} AND at < ${to}
      GROUP BY token HAVING sum(payments) <> 0 OR sum(refunded) <> 0) AS own`,
  withoutLeases: raw(", leases = ''"),
  *letGo() {},
  // The gate is a separate table, because a vacuum of the payments would hold their table for its whole duration.
  *blockRegistrations() {
    yield raw(`SET LOCAL lock_timeout = ${lockMs}`)
    yield raw('LOCK TABLE {gate} IN EXCLUSIVE MODE')
  },
  isFree: raw('reserved = 0 AND owed > 0'),
})
