/**
 * The list of captures as SQL: one index scan over the payments and one over what was only seen, each in the order asked
 * for and cut at the number asked for. The two databases differ in how they spell a few things.
 */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import { parsePositions } from '../../core/payment/byte-ranges.ts'
import type { PaymentListItem } from '../../core/payment/history.ts'
import type { PaymentListQuery } from '../../core/ports/reports.ts'
import type { Finality } from '../rules/grants.ts'
import { listPayment } from '../rules/payment-list.ts'
import { checkCount } from '../rules/periods.ts'
import { formatText, parseText } from '../stored-text.ts'

export interface Spelling {
  readonly payments: string
  readonly unclaimed: string
  /** A payment that came too late. */
  readonly late: string
  /** Nothing is registered of a sighting. */
  readonly isUnclaimed: string
  /** Nobody was told of its end. */
  readonly isUntold: string
  /** The place of the n-th value, from 1 on. */
  place(number: number): string
  bytes(tx: Uint8Array): unknown
  /** Whether one amount is more than another, both columns. */
  isMore(one: string, other: string): string
  /** A response is under way for a payment, at the time that is the n-th value. */
  isHeld(time: string): string
}

export interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
}

export const paymentColumns = `tx, request, payer, recipient, endpoint, token, received, worth, unit, amount, paid_at,
  used, deliveries, positions, finality`

/** As the databases give it: money and, in PostgreSQL, all numbers are text. */
export interface PaymentListRow {
  readonly tx: Uint8Array
  readonly request: string
  readonly payer: string
  readonly recipient: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly received: string
  readonly worth: string | null
  readonly unit: Unit
  readonly amount: bigint | string
  readonly paid_at: bigint | string
  readonly used: bigint | string
  readonly deliveries: bigint | string
  readonly positions: string
  readonly finality: Finality
  readonly late: boolean | bigint
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

/** Undefined where no payment can be among the answers. */
export function selectPayments(query: PaymentListQuery, spelling: Spelling): Statement | undefined {
  if (query.status === 'pending' || query.state === 'unclaimed') return undefined
  const { payments, late } = spelling
  const isVoid = readVoid(spelling)
  const status = query.status === undefined ? [] : [query.status === 'expired' ? isVoid : `NOT ${isVoid}`]
  const columns = `${paymentColumns}, ${late} AS late`
  if (query.state === 'confirmed') {
    // Few are not final yet: those are found by it, and sorted then.
    const isOpen = [...status, `NOT (${late})`, "finality = 'confirmed'"].join(' AND ')
    const found = `WITH unfinal AS MATERIALIZED (SELECT ${columns} FROM ${payments} WHERE ${isOpen})`
    const { text, values } = restOf(query, spelling, [])
    return { sql: `${found} SELECT * FROM unfinal ${text}`, values }
  }
  const states = {
    late: [isVoid, late, "finality <> 'reverted'"],
    reverted: ["finality = 'reverted'"],
    finalized: [`NOT (${late})`, "finality = 'finalized'"],
  }
  const state = query.state === undefined ? [] : states[query.state]
  const { text, values } = restOf(query, spelling, [...status, ...state])
  return { sql: `SELECT ${columns} FROM ${payments} ${text}`, values }
}

export function readVoid({ late }: Spelling): string {
  return `(${late} OR finality = 'reverted')`
}

/** Undefined where no sighting can be among the answers. */
export function selectSightings(
  query: PaymentListQuery,
  spelling: Spelling,
  columns: string,
  now: number,
): Statement | undefined {
  if (query.state !== undefined && query.state !== 'unclaimed') return undefined
  const { unclaimed, isUnclaimed, isUntold, place } = spelling
  const open = [isUnclaimed, "request <> ''"]
  const first = place(1)
  switch (query.status) {
    case 'confirmed':
      return undefined
    case undefined: {
      const { text, values } = restOf(query, spelling, open)
      return { sql: `SELECT ${columns} FROM ${unclaimed} ${text}`, values }
    }
    case 'expired': {
      const { text, values } = restOf(query, spelling, [...open, `claimable_until < ${first}`], [now])
      return { sql: `SELECT ${columns} FROM ${unclaimed} ${text}`, values }
    }
    case 'pending': {
      // Few are pending at a time, and many have run out: those that are pending are found by their end, and sorted then.
      const isPending = [...open, isUntold, 'claimable_until > 0', `claimable_until >= ${first}`].join(' AND ')
      const found = `WITH pending AS MATERIALIZED (SELECT ${columns} FROM ${unclaimed} WHERE ${isPending})`
      const { text, values } = restOf(query, spelling, [], [now])
      return { sql: `${found} SELECT * FROM pending ${text}`, values }
    }
  }
}

const voidStates: readonly PaymentListQuery['state'][] = ['late', 'reverted']

/** Everything from WHERE on. `conditions` may name the values that are `given`, which come first. */
function restOf(
  query: PaymentListQuery,
  { place, bytes }: Spelling,
  conditions: readonly string[],
  given: readonly unknown[] = [],
): { readonly text: string; readonly values: readonly unknown[] } {
  const all = [...conditions]
  const values = [...given]
  const next = (value: unknown): string => place(values.push(value))
  const { from, to, tx, request, payer, endpoint, token, after, status, state, order, most } = query
  // Few are void, and an endpoint is one of many: what is less telling than that is checked, and not looked up.
  const checked = (column: string, isLookedUp: boolean): string => (isLookedUp ? column : `${column} || ''`)
  const isExact = tx !== undefined || request !== undefined || payer !== undefined
  const isFound = isExact || status === 'expired' || voidStates.includes(state)
  if (tx !== undefined) all.push(`tx = ${next(bytes(tx))}`)
  if (request !== undefined) all.push(`${checked('request', tx === undefined)} = ${next(request)}`)
  if (payer !== undefined) all.push(`${checked('payer', tx === undefined && request === undefined)} = ${next(payer)}`)
  if (endpoint !== undefined) all.push(`${checked('endpoint', !isFound)} = ${next(formatText(endpoint))}`)
  if (token !== undefined) all.push(`${checked('token', !isFound && endpoint === undefined)} = ${next(token)}`)
  if (from !== undefined) all.push(`paid_at >= ${next(from)}`)
  if (to !== undefined) all.push(`paid_at < ${next(to)}`)
  const [beyond, way] = order === 'latest' ? ['<', 'DESC'] : ['>', 'ASC']
  if (after) all.push(`(paid_at, tx) ${beyond} (${next(after.at)}, ${next(bytes(after.tx))})`)
  const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')} `
  return { text: `${where}ORDER BY paid_at ${way}, tx ${way} LIMIT ${next(checkCount(most))}`, values }
}
