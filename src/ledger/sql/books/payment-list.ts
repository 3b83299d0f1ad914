/**
 * The payment list as SQL: one index scan over the payments and one over the observed payments, each in the requested
 * order and limited to the requested number.
 */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Unit } from '../../../core/payment/allowance.ts'
import { parsePositions } from '../../../core/payment/byte-ranges.ts'
import type { PaymentListItem } from '../../../core/payment/history.ts'
import { refundedWorth } from '../../../core/payouts/refunds.ts'
import type { ListSum, PaymentListQuery } from '../../../core/ports/reports.ts'
import { readSighting, type SightingRow, sightingColumns } from '../../rules/observations.ts'
import { listObservation, listPayment } from '../../rules/payment-list.ts'
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

export type ListedSightingRow = SightingRow & { readonly is_second: boolean | bigint }

export function readObservation(row: ListedSightingRow, now: number): PaymentListItem {
  return listObservation(readSighting(row), Boolean(row.is_second), now)
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

/** Condition: another payment has paid for the requestId of the `seen` row in full. */
export function isSecondIn(dialect: Dialect): Query {
  return sql`(EXISTS (SELECT 1 FROM {payments} AS other WHERE other.request = seen.request
      AND NOT (${dialect.late('other')}) AND other.finality <> 'reverted')
    OR EXISTS (SELECT 1 FROM {unclaimed} AS other WHERE other.request = seen.request AND other.request <> ''
      AND ${isOpenIn(dialect, 'other')} AND other.slot > 0 AND (other.paid_at, other.tx) < (seen.paid_at, seen.tx)
      AND coalesce(${dialect.isMore('other.required', 'other.received')}, false) = false))`
}

/** The columns of a `ListedSightingRow`. */
export const observationColumns = (dialect: Dialect): Query =>
  sql`${raw(sightingColumns)}, ${isSecondIn(dialect)} AS is_second`

/** Undefined if no observed payment can match. */
export function selectSightings(
  query: PaymentListQuery,
  dialect: Dialect,
  now: number,
  columns: Query = observationColumns(dialect),
): Query | undefined {
  if (query.state !== undefined && query.state !== 'unclaimed') return undefined
  const open = [isOpenIn(dialect), raw("request <> ''")]
  const select = sql`SELECT ${columns} FROM {unclaimed} AS seen`
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
  readonly kind: 'accepted' | 'unaccepted' | 'not_on_chain'
  readonly payments: Whole
  readonly units: string
  readonly worth: string
  readonly valued: Whole
}

interface ListRefundRow {
  readonly token: TokenCode
  readonly received: string
  readonly worth: string
  readonly sent: string
}

/** The sums of both lists by token. Each list ends at its own limit. */
export function* sumLists(query: PaymentListQuery, dialect: Dialect, now: number): Work<readonly ListSum[]> {
  const { total } = dialect
  const payments = selectPayments(query, dialect)
  const sightings = selectSightings(query, dialect, now, raw(sightingColumns))
  const sums = new Map<TokenCode, ListSum>()
  const rows: ListSumRow[] = []
  const add = function* (list: Query, kind: Query, worth: Query, valued: Query): Work<void> {
    const found = yield* all<ListSumRow>(sql`SELECT token, ${kind} AS kind, count(*) AS payments,
      ${total('received')} AS units, ${worth} AS worth, ${valued} AS valued
      FROM (${list}) AS listed GROUP BY token, ${kind}`)
    rows.push(...found)
  }
  const isVoid = raw("CASE WHEN late OR finality = 'reverted' THEN 'unaccepted' ELSE 'accepted' END")
  if (payments) yield* add(payments, isVoid, total('worth'), raw('count(worth)'))
  const isNamed = raw("CASE WHEN slot > 0 THEN 'unaccepted' ELSE 'not_on_chain' END")
  // An observed payment has no value yet.
  if (sightings) yield* add(sightings, isNamed, raw("'0'"), raw('0'))
  for (const row of rows) sums.set(row.token, addToSum(sums.get(row.token), row))
  if (!payments) return sortSums(sums)
  const refunds = yield* all<ListRefundRow>(sql`SELECT listed.token, listed.received, listed.worth, refund.sent
    FROM {dispatches} AS refund JOIN (${payments}) AS listed ON listed.tx = refund.payment
    WHERE refund.kind = 'refund' AND refund.state = 'landed' AND NOT listed.late AND listed.worth IS NOT NULL`)
  for (const { token, received, worth, sent } of refunds) {
    const sum = sums.get(token)
    const back = refundedWorth(BigInt(worth), BigInt(sent), BigInt(received))
    if (sum) sums.set(token, { ...sum, refundedWorth: sum.refundedWorth + back })
  }
  return sortSums(sums)
}

function addToSum(sum: ListSum | undefined, { token, kind, ...row }: ListSumRow): ListSum {
  const count = Number(row.payments)
  const before = sum ?? { token, ...emptyListSum }
  if (kind === 'not_on_chain') return { ...before, notOnChain: before.notOnChain + count }
  if (kind === 'unaccepted') return { ...before, unaccepted: before.unaccepted + count }
  return {
    ...before,
    payments: count,
    units: readMoney(row.units),
    worth: readMoney(row.worth),
    unvalued: count - Number(row.valued),
  }
}

function sortSums(sums: ReadonlyMap<TokenCode, ListSum>): readonly ListSum[] {
  return [...sums.values()].sort((one, other) => (one.token < other.token ? -1 : 1))
}

const emptyListSum = { payments: 0, unaccepted: 0, notOnChain: 0, units: 0n, worth: 0n, refundedWorth: 0n, unvalued: 0 }
