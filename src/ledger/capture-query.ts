/**
 * The list of captures as SQL: one index scan over the payments and one over what was only seen, each in the order asked
 * for and cut at the number asked for. The two databases differ in how they spell a few things.
 */
import type { CaptureQuery } from '../core/ports.ts'
import { formatText } from './stored-text.ts'

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
}

export interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
}

export const paymentColumns = `tx, request, payer, recipient, endpoint, token, received, worth, unit, amount, paid_at,
  used, deliveries, positions, finality`

/** Undefined where no payment can be among the answers. */
export function selectPayments(query: CaptureQuery, spelling: Spelling): Statement | undefined {
  if (query.status === 'pending') return undefined
  const { payments, late } = spelling
  const isVoid = `(${late} OR finality = 'reverted')`
  const status = query.status === undefined ? [] : [query.status === 'expired' ? isVoid : `NOT ${isVoid}`]
  const { conditions, values } = filters(query, spelling, status)
  const columns = `${paymentColumns}, ${late} AS late`
  return { sql: `SELECT ${columns} FROM ${payments}${where(conditions)}${ordered(query)}`, values }
}

/** Undefined where no sighting can be among the answers. */
export function selectSightings(
  query: CaptureQuery,
  spelling: Spelling,
  columns: string,
  now: number,
): Statement | undefined {
  if (query.status === 'confirmed') return undefined
  const open = [spelling.isUnclaimed, "request <> ''"]
  if (query.status !== 'pending') {
    const { conditions, values } = filters(query, spelling, open)
    const isPast = `claimable_until < ${spelling.place(values.length + 1)}`
    const status = query.status === 'expired' ? [isPast] : []
    const sql = `SELECT ${columns} FROM ${spelling.unclaimed}${where([...conditions, ...status])}${ordered(query)}`
    return { sql, values: status.length > 0 ? [...values, now] : values }
  }
  // Few are pending at a time, and many have run out: those that are pending are found by their end, and sorted then.
  const pending = [...open, spelling.isUntold, 'claimable_until > 0', `claimable_until >= ${spelling.place(1)}`]
  const { conditions, values } = filters(query, spelling, [], [now])
  const found = `WITH pending AS MATERIALIZED (SELECT ${columns} FROM ${spelling.unclaimed}${where(pending)})`
  return { sql: `${found} SELECT * FROM pending${where(conditions)}${ordered(query)}`, values }
}

function filters(
  query: CaptureQuery,
  { place, bytes }: Spelling,
  conditions: readonly string[],
  given: readonly unknown[] = [],
) {
  const all = [...conditions]
  const values = [...given]
  const add = (condition: (...places: string[]) => string, ...added: readonly unknown[]) => {
    all.push(condition(...added.map((_, index) => place(values.length + index + 1))))
    values.push(...added)
  }
  const { from, to, endpoint, token, after, status } = query
  // Few are void, and an endpoint is one of many: what is less telling than that is checked, and not looked up.
  const checked = (column: string, isLookedUp: boolean): string => (isLookedUp ? column : `${column} || ''`)
  const isVoid = status === 'expired'
  if (endpoint !== undefined) add((name) => `${checked('endpoint', !isVoid)} = ${name}`, formatText(endpoint))
  if (token !== undefined) add((code) => `${checked('token', !isVoid && endpoint === undefined)} = ${code}`, token)
  if (from !== undefined) add((time) => `paid_at >= ${time}`, from)
  if (to !== undefined) add((time) => `paid_at < ${time}`, to)
  const beyond = query.order === 'latest' ? '<' : '>'
  if (after) add((at, tx) => `(paid_at, tx) ${beyond} (${at}, ${tx})`, after.at, bytes(after.tx))
  return { conditions: all, values }
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

function ordered({ order, most }: CaptureQuery): string {
  const way = order === 'latest' ? 'DESC' : 'ASC'
  return ` ORDER BY paid_at ${way}, tx ${way} LIMIT ${Math.max(0, Math.floor(most))}`
}
