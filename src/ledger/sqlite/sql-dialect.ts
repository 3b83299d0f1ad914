/** The SQLite syntax of the shared statements. Money is text, so the longer of two amounts is the larger. */
import { all, type Dialect, formatHex, raw, sql } from '../sql/work.ts'
import { formatText } from '../stored-text.ts'
import { noteSightings } from './observed-payments.ts'
import { addLines, countColumns, isAnyCounted, sums } from './totals.ts'

const nothing = raw('')

/** Two numbers, because one SQLite integer cannot hold the sum. */
const total = (column: string): string =>
  `coalesce(sum(CAST(substr(${column}, 1, length(${column}) - 12) AS INTEGER)), 0) || ':' ||
    coalesce(sum(CAST(substr(${column}, max(length(${column}) - 11, 1)) AS INTEGER)), 0)`

export const sqliteDialect: Dialect = {
  late: (table) => raw(`${table === undefined ? '' : `${table}.`}state = 'late'`),
  not: (column) => raw(`${column} = 0`),
  // The transaction that registers a payment removes it from the observed payments.
  isUnclaimed: () => raw('true'),
  isHeld: (now) => sql`EXISTS (SELECT 1 FROM grants WHERE payment = payments.id AND deadline > ${now})`,
  // A writer locks the whole database.
  lock: () => nothing,
  skipLocked: nothing,
  // Written as in the index of overpayments.
  isMore: (one, other) =>
    raw(`(length(${one}) > length(${other}) OR length(${one}) = length(${other}) AND ${one} > ${other})`),
  isAtLeast: (column, units) => {
    const [amount, least] = [raw(column), String(units > 0n ? units : 0n)]
    return sql`length(${amount}) >= length(${least}) AND (length(${amount}) > length(${least}) OR ${amount} >= ${least})`
  },
  largest: (column) => raw(`length(${column}) DESC, ${column} DESC`),
  total: (column) => raw(total(column)),
  given: (items, columns) => {
    const fields = Object.entries(columns)
    const rows = items.map((item) =>
      fields.map(([, [type, value]]) => (type === 'bytea' ? formatHex(value(item) as Uint8Array) : value(item))),
    )
    const names = fields.map(([name, [type]], index) => {
      const field = `value ->> ${index}`
      return `${type === 'bytea' ? `unhex(${field})` : field} AS ${name}`
    })
    return sql`(SELECT ${raw(names.join(', '))} FROM json_each(${JSON.stringify(rows)})) AS given`
  },
  noticeId: raw("'msg_' || lower(hex(randomblob(16)))"),
  noteSightings,
  nextVersion: nothing,
  countColumns: raw(countColumns),
  sums: (isSigned) => raw(sums(isSigned ? 'sign * ' : '')),
  isAnyCounted: raw(isAnyCounted),
  addLines,
  *addUsage(usage) {
    for (const { at, endpoint, event, count } of usage)
      yield sql`INSERT INTO usage (at, endpoint, event, count) VALUES (${at}, ${formatText(endpoint)}, ${event}, ${count})
        ON CONFLICT (at, endpoint, event) DO UPDATE SET count = count + excluded.count`
  },
  *topPayers(days, perDay) {
    const found: string[] = []
    for (const day of days) {
      const rows = yield* all<{
        readonly payer: string
      }>(sql`SELECT payer FROM payers WHERE at = ${day} AND payments > 0
        ORDER BY worth_hi DESC, worth_lo DESC LIMIT ${perDay}`)
      found.push(...rows.map(({ payer }) => payer))
    }
    return found
  },
  payerSums: (payers, { from, to }) => sql`SELECT payer, token, ${raw(sums('sign * '))} FROM (
      SELECT payers.*, 1 AS sign FROM json_each(${JSON.stringify(payers)}) JOIN payers ON payer = value
        AND at >= ${from} AND at < ${to})
    GROUP BY payer, token ${raw(isAnyCounted)}`,
  withoutLeases: nothing,
  *letGo(tx) {
    yield sql`DELETE FROM grants WHERE payment = (SELECT id FROM payments WHERE tx = ${tx})`
  },
  // A writer has exclusive access in any case.
  *blockRegistrations() {},
  isFree: raw("reserved = '0' AND owed <> '0'"),
}
