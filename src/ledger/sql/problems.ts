/**
 * What somebody has to look after, as SQL: payments by partial indexes that hold nothing else, and what was only seen by the
 * small table of it. The latest first.
 */
import type { History, PaymentListItem } from '../../core/payment/history.ts'
import type { PaymentListMark, Problem, ProblemKind } from '../../core/ports/reports.ts'
import type { SightingRow } from '../rules/observations.ts'
import { readSighting, sightingColumns } from '../rules/observations.ts'
import { listObservation } from '../rules/payment-list.ts'
import type { RegisteredKind, SeenKind } from '../rules/problems.ts'
import { claimingMs, readProblem, registeredKinds, seenKinds } from '../rules/problems.ts'
import type { PaymentListRow, Spelling, Statement } from './payment-list.ts'
import { paymentColumns, readPaymentListItem, readVoid } from './payment-list.ts'

interface Asked {
  readonly after?: PaymentListMark
  readonly most: number
  readonly now: number
  /** Only how many there are is wanted. */
  readonly isCount?: boolean
}

function selectRegistered(kind: RegisteredKind, asked: Asked, spelling: Spelling): Statement {
  const { payments, late } = spelling
  const values: unknown[] = []
  const next = (value: unknown): string => spelling.place(values.push(value))
  const isStanding = "finality <> 'reverted' AND refunded_at IS NULL"
  const isGood = `NOT (${late}) AND ${isStanding}`
  const conditions: Record<RegisteredKind, () => string> = {
    reverted: () => "finality = 'reverted'",
    late: () => `${readVoid(spelling)} AND ${late} AND ${isStanding}`,
    undelivered: () => `undelivered_at IS NOT NULL AND ${isGood} AND NOT (${spelling.isHeld(next(asked.now))})`,
    surplus: () => `${spelling.isMore('received', 'required')} AND undelivered_at IS NULL AND ${isGood}`,
  }
  const columns = asked.isCount ? '1' : `'${kind}' AS kind, ${paymentColumns}, required, usable_until, ${late} AS late`
  return {
    sql: `SELECT ${columns} FROM ${payments} WHERE ${conditions[kind]()} ${rest(asked, spelling, next)}`,
    values,
  }
}

function selectSeen(kind: SeenKind, asked: Asked, spelling: Spelling): Statement {
  const { isUnclaimed, isMore } = spelling
  const values: unknown[] = []
  const next = (value: unknown): string => spelling.place(values.push(value))
  const table = spelling.unclaimed.split(' ')[0]
  const from = `FROM ${table} AS seen WHERE ${isUnclaimed}`
  const columns = asked.isCount ? '1' : `'${kind}' AS kind, ${sightingColumns}`
  if (kind === 'unmatched')
    return { sql: `SELECT ${columns} ${from} AND request = '' AND slot > 0 ${rest(asked, spelling, next)}`, values }
  const isShort = `coalesce(${isMore('required', 'received')}, false)`
  const isLate = 'payable_until > 0 AND paid_at > payable_until'
  const isPaid = `EXISTS (SELECT 1 FROM ${spelling.payments} AS other WHERE other.request = seen.request
    AND NOT (${spelling.late.replace('state', 'other.state')}) AND other.finality <> 'reverted')`
  const isSecond = `EXISTS (SELECT 1 FROM ${table} AS other WHERE other.request = seen.request AND other.request <> ''
    AND ${isUnclaimed.replace('seen.', 'other.')} AND other.slot > 0 AND (other.paid_at, other.tx) < (seen.paid_at, seen.tx)
    AND coalesce(${isMore('other.required', 'other.received')}, false) = false)`
  const isMuch = `(coalesce(${isMore('received', 'required')}, false) OR ${isPaid} OR ${isSecond})`
  const conditions: Record<Exclude<SeenKind, 'unmatched'>, () => string> = {
    underpaid: () => isShort,
    late: () => `NOT (${isShort}) AND ${isLate}`,
    surplus: () => `NOT (${isShort}) AND NOT (${isLate}) AND ${isMuch}`,
    unclaimed: () =>
      `paid_at <= ${next(asked.now - claimingMs)} AND NOT (${isShort}) AND NOT (${isLate}) AND NOT ${isMuch}`,
  }
  const isOwn = `request <> '' AND slot > 0 AND ${conditions[kind]()}`
  return { sql: `SELECT ${columns} ${from} AND ${isOwn} ${rest(asked, spelling, next)}`, values }
}

function rest({ after, most, isCount }: Asked, { bytes }: Spelling, next: (value: unknown) => string): string {
  const beyond = after ? `AND (paid_at, tx) < (${next(after.at)}, ${next(bytes(after.tx))}) ` : ''
  return `${beyond}${isCount ? '' : 'ORDER BY paid_at DESC, tx DESC '}LIMIT ${next(most)}`
}

/** All lists of a kind, or of all kinds. What was only seen comes first: what is claimed between the two is in both. */
export function selectProblems(kind: ProblemKind | undefined, asked: Asked, spelling: Spelling) {
  const isAsked = (one: ProblemKind): boolean => kind === undefined || one === kind
  return {
    seen: seenKinds.filter(isAsked).map((one) => selectSeen(one, asked, spelling)),
    registered: registeredKinds.filter(isAsked).map((one) => selectRegistered(one, asked, spelling)),
  }
}

export function readCount({ sql, values }: Statement): Statement {
  return { sql: `SELECT count(*) AS count FROM (${sql}) AS found`, values }
}

export type RegisteredRow = PaymentListRow & {
  readonly kind: RegisteredKind
  readonly required: string
  readonly usable_until: bigint | string
}
export type SeenRow = SightingRow & { readonly kind: SeenKind }

export function readRegistered(row: RegisteredRow): Problem {
  const { kind, required, usable_until } = row
  return { kind, capture: readPaymentListItem(row), required: BigInt(required), until: Number(usable_until) }
}

export function readSeen(row: SeenRow, now: number): Problem {
  return readProblem(readSighting(row), row.kind, now)
}

/** The course of one payment: as it was registered, as it was seen, and as it is not claimed yet. The n-th value is its key. */
export function selectHistory({ payments, late, place }: Spelling, sightings: string, unclaimed: string) {
  const times = 'registered_at, delivered_at, delivered_last, undelivered_at, concluded_at, refunded_at'
  return {
    registered: `SELECT ${paymentColumns}, required, ${late} AS late, ${times} FROM ${payments} WHERE tx = ${place(1)}`,
    seen: `SELECT seen_at FROM ${sightings} WHERE tx = ${place(1)} AND slot > 0`,
    unclaimed: `SELECT ${sightingColumns} FROM ${unclaimed} WHERE tx = ${place(1)}`,
  }
}

type Time = bigint | string | null

export type HistoryRow = PaymentListRow & {
  readonly required: string
  readonly registered_at: bigint | string
  readonly delivered_at: Time
  readonly delivered_last: Time
  readonly undelivered_at: Time
  readonly concluded_at: Time
  readonly refunded_at: Time
}

export function readHistory(
  row: HistoryRow | undefined,
  seen: { readonly seen_at: Time } | undefined,
  unclaimed: SightingRow | undefined,
  now: number,
): History | undefined {
  const seenAt = timeOf(seen?.seen_at ?? null)
  const shown = { isShown: row !== undefined || seen !== undefined, seenAt }
  if (row) {
    const capture: PaymentListItem = readPaymentListItem(row)
    return { capture, required: BigInt(row.required), ...shown, ...timesOf(row), claimableUntil: undefined }
  }
  if (!unclaimed) return undefined
  const sighting = readSighting(unclaimed)
  const { required, claimableUntil } = sighting
  return { capture: listObservation(sighting, now), required, ...shown, ...timesOf(undefined), claimableUntil }
}

function timesOf(row: HistoryRow | undefined) {
  return {
    registeredAt: timeOf(row?.registered_at ?? null),
    deliveredAt: timeOf(row?.delivered_at ?? null),
    deliveredLast: timeOf(row?.delivered_last ?? null),
    undeliveredAt: timeOf(row?.undelivered_at ?? null),
    concludedAt: timeOf(row?.concluded_at ?? null),
    refundedAt: timeOf(row?.refunded_at ?? null),
  }
}

function timeOf(time: Time): number | undefined {
  return time === null ? undefined : Number(time)
}
