/**
 * The payment list as SQL: one index scan over the payments and one over the observed payments, each in the requested
 * order and limited to the requested number.
 */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Unit } from '../../../core/payment/allowance.ts'
import { parsePositions } from '../../../core/payment/byte-ranges.ts'
import type { PaymentListItem } from '../../../core/payment/history.ts'
import type { ListSum, PaymentListQuery } from '../../../core/ports/reports.ts'
import { sightingColumns } from '../../rules/observations.ts'
import { listPayment } from '../../rules/payment-list.ts'
import { checkCount } from '../../rules/periods.ts'
import { formatText, parseParts, parseText } from '../../stored-text.ts'
import { all, type Dialect, join, type Query, raw, readMoney, sql, type Whole, type Work } from '../work.ts'
import type { BookedRow } from './totals.ts'

const paymentColumns = `tx, request, payer, recipient, endpoint, token, received, worth, unit, amount, paid_at,
  used, deliveries, positions, finality, splits`

/** The row from the databases. Money is text. In PostgreSQL, all numbers are text. */
export interface PaymentListRow extends BookedRow {
  readonly request: string
  readonly recipient: string
  readonly unit: Unit
  readonly amount: Whole
  readonly used: Whole
  readonly deliveries: Whole
  readonly positions: string
  readonly splits: string | null
}

export function readPaymentListItem(row: PaymentListRow): PaymentListItem {
  const { request, payer, recipient, token, unit, finality } = row
  return listPayment({
    tx: new Uint8Array(row.tx),
    request,
    payer,
    recipient,
    endpoint: parseText(row.endpoint),
    token,
    received: BigInt(row.received),
    ...parseParts(row.splits),
    worth: row.worth === null ? undefined : BigInt(row.worth),
    allowance: { unit, amount: BigInt(row.amount) },
    paidAt: Number(row.paid_at),
    used: BigInt(row.used),
    deliveries: BigInt(row.deliveries),
    positions: parsePositions(row.positions),
    finality,
    late: Boolean(row.late),
  })
}

/** Undefined if no registered payment can match. */
export function selectPayments(query: PaymentListQuery, dialect: Dialect): Query | undefined {
  if (query.status === 'pending' || query.state === 'unclaimed') return undefined
  const late = dialect.late()
  const isVoid = isVoidIn(dialect)
  const status = query.status === undefined ? [] : [query.status === 'expired' ? isVoid : sql`NOT ${isVoid}`]
  const columns = listColumns(dialect)
  if (query.state === 'confirmed') {
    // Few payments are not final yet. The query finds them by this condition, then sorts them.
    const isOpen = join([...status, sql`NOT (${late})`, raw("finality = 'confirmed'")], ' AND ')
    return sql`WITH unfinal AS MATERIALIZED (SELECT ${columns} FROM {payments} WHERE ${isOpen})
      SELECT * FROM unfinal ${restOf(query, [])}`
  }
  const states = {
    late: [isVoid, late, raw("finality <> 'reverted'")],
    reverted: [raw("finality = 'reverted'")],
    finalized: [sql`NOT (${late})`, raw("finality = 'finalized'")],
  }
  const state = query.state === undefined ? [] : states[query.state]
  return sql`SELECT ${columns} FROM {payments} ${restOf(query, [...status, ...state])}`
}

export const listColumns = ({ late }: Dialect): Query => sql`${raw(paymentColumns)}, ${late()} AS late`

export function isVoidIn({ late }: Dialect): Query {
  return sql`(${late()} OR finality = 'reverted')`
}

/** Condition: no payment is registered for the observed one. */
export function isOpenIn({ not, isUnclaimed }: Dialect, seen = 'seen'): Query {
  return sql`${not(`${seen}.late`)} AND ${isUnclaimed(seen)}`
}

/** Undefined if no observed payment can match. */
export function selectSightings(query: PaymentListQuery, dialect: Dialect, now: number): Query | undefined {
  if (query.state !== undefined && query.state !== 'unclaimed') return undefined
  const open = [isOpenIn(dialect), raw("request <> ''")]
  const select = sql`SELECT ${raw(sightingColumns)} FROM {unclaimed} AS seen`
  switch (query.status) {
    case 'confirmed':
      return undefined
    case undefined:
      return sql`${select} ${restOf(query, open)}`
    case 'expired':
      return sql`${select} ${restOf(query, [...open, sql`claimable_until < ${now}`])}`
    case 'pending': {
      // Few payments are pending and many have expired. The query finds the pending ones by their deadline, then sorts
      // them.
      const isPending = [...open, dialect.not('told'), raw('claimable_until > 0'), sql`claimable_until >= ${now}`]
      return sql`WITH pending AS MATERIALIZED (${select} WHERE ${join(isPending, ' AND ')})
        SELECT * FROM pending ${restOf(query, [])}`
    }
  }
}

const voidStates: readonly PaymentListQuery['state'][] = ['late', 'reverted']

/** The query from WHERE on. */
function restOf(query: PaymentListQuery, conditions: readonly Query[]): Query {
  const all = [...conditions]
  const { from, to, tx, request, payer, endpoint, token, after, status, state, order, most } = query
  // Void payments are few, and an endpoint is selective. `|| ''` keeps the planner from an index on a less selective
  // column.
  const checked = (column: string, isLookedUp: boolean): Query => raw(isLookedUp ? column : `${column} || ''`)
  const isExact = tx !== undefined || request !== undefined || payer !== undefined
  const isFound = isExact || status === 'expired' || voidStates.includes(state)
  if (tx !== undefined) all.push(sql`tx = ${tx}`)
  if (request !== undefined) all.push(sql`${checked('request', tx === undefined)} = ${request}`)
  if (payer !== undefined) all.push(sql`${checked('payer', tx === undefined && request === undefined)} = ${payer}`)
  if (endpoint !== undefined) all.push(sql`${checked('endpoint', !isFound)} = ${formatText(endpoint)}`)
  if (token !== undefined) all.push(sql`${checked('token', !isFound && endpoint === undefined)} = ${token}`)
  if (from !== undefined) all.push(sql`paid_at >= ${from}`)
  if (to !== undefined) all.push(sql`paid_at < ${to}`)
  const [beyond, way] = order === 'latest' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')]
  if (after) all.push(sql`(paid_at, tx) ${beyond} (${after.at}, ${after.tx})`)
  const where = all.length === 0 ? raw('') : sql`WHERE ${join(all, ' AND ')} `
  return sql`${where}ORDER BY paid_at ${way}, tx ${way} LIMIT ${checkCount(most)}`
}

type ListSumRow = {
  readonly token: TokenCode
  readonly payments: Whole
  readonly units: string
  readonly worth: string
  readonly valued: Whole
}

/** The sums of both lists by token. Each list ends at its own limit. */
export function* sumLists(
  { total }: Dialect,
  payments: Query | undefined,
  sightings: Query | undefined,
): Work<readonly ListSum[]> {
  const sums = new Map<TokenCode, ListSum>()
  const add = function* (list: Query, worth: Query, valued: Query): Work<void> {
    const rows = yield* all<ListSumRow>(sql`SELECT token, count(*) AS payments, ${total('received')} AS units,
      ${worth} AS worth, ${valued} AS valued FROM (${list}) AS listed GROUP BY token ORDER BY token`)
    for (const row of rows) {
      const before = sums.get(row.token) ?? { payments: 0, units: 0n, worth: 0n, unvalued: 0 }
      sums.set(row.token, {
        token: row.token,
        payments: before.payments + Number(row.payments),
        units: before.units + readMoney(row.units),
        worth: before.worth + readMoney(row.worth),
        unvalued: before.unvalued + Number(row.payments) - Number(row.valued),
      })
    }
  }
  if (payments) yield* add(payments, total('worth'), raw('count(worth)'))
  // An observed payment has no value yet.
  if (sightings) yield* add(sightings, raw("'0'"), raw('0'))
  return [...sums.values()].sort((one, other) => (one.token < other.token ? -1 : 1))
}
