/**
 * Payments that need attention, as SQL, the latest first. Registered payments are found by partial indexes, and
 * observed ones in their small table.
 */
import type { History } from '../../../core/payment/history.ts'
import type { PaymentListMark, Problem, ProblemKind } from '../../../core/ports/reports.ts'
import { readSighting, type SightingRow, sightingColumns } from '../../rules/observations.ts'
import type { RegisteredKind, SeenKind } from '../../rules/problems.ts'
import { claimingMs, readProblem, registeredKinds, seenKinds } from '../../rules/problems.ts'
import { type Dialect, first, type Query, raw, readTimeOrNone, sql, type Whole, type Work } from '../work.ts'
import {
  isOpenIn,
  isSecondIn,
  isVoidIn,
  type ListedSightingRow,
  listColumns,
  observationColumns,
  type PaymentListRow,
  readObservation,
  readPaymentListItem,
} from './payment-list.ts'

interface ProblemQuery {
  readonly after?: PaymentListMark
  readonly most: number
  readonly now: number
  /** Only the number of problems is requested. */
  readonly isCount?: boolean
}

function selectRegistered(kind: RegisteredKind, asked: ProblemQuery, dialect: Dialect): Query {
  const late = dialect.late()
  const isStanding = raw("finality <> 'reverted' AND refunded_at IS NULL")
  const isGood = sql`NOT (${late}) AND ${isStanding}`
  const conditions: Record<RegisteredKind, () => Query> = {
    reverted: () => raw("finality = 'reverted'"),
    late: () => sql`${isVoidIn(dialect)} AND ${late} AND ${isStanding}`,
    undelivered: () => sql`undelivered_at IS NOT NULL AND ${isGood} AND NOT (${dialect.isHeld(asked.now)})`,
    surplus: () => sql`${dialect.isMore('received', 'required')} AND undelivered_at IS NULL AND ${isGood}`,
  }
  const columns = asked.isCount
    ? raw('1')
    : sql`${raw(`'${kind}' AS kind, required, usable_until`)}, ${listColumns(dialect)}`
  return sql`SELECT ${columns} FROM {payments} WHERE ${conditions[kind]()} ${rest(asked)}`
}

function selectSeen(kind: SeenKind, asked: ProblemQuery, dialect: Dialect): Query {
  const { isMore } = dialect
  const columns = raw(asked.isCount ? '1' : `'${kind}' AS kind, ${sightingColumns}`)
  const from = sql`SELECT ${columns} FROM {unclaimed} AS seen WHERE ${isOpenIn(dialect)}`
  if (kind === 'unmatched') return sql`${from} AND request = '' AND slot > 0 ${rest(asked)}`
  const isShort = sql`coalesce(${isMore('required', 'received')}, false)`
  const isLate = raw('payable_until > 0 AND paid_at > payable_until')
  const isMuch = sql`(coalesce(${isMore('received', 'required')}, false) OR ${isSecondIn(dialect)})`
  const conditions: Record<Exclude<SeenKind, 'unmatched'>, () => Query> = {
    underpaid: () => isShort,
    late: () => sql`NOT (${isShort}) AND ${isLate}`,
    surplus: () => sql`NOT (${isShort}) AND NOT (${isLate}) AND ${isMuch}`,
    unclaimed: () =>
      sql`paid_at <= ${asked.now - claimingMs} AND NOT (${isShort}) AND NOT (${isLate}) AND NOT ${isMuch}`,
  }
  return sql`${from} AND request <> '' AND slot > 0 AND ${conditions[kind]()} ${rest(asked)}`
}

function rest({ after, most, isCount }: ProblemQuery): Query {
  const beyond = after ? sql`AND (paid_at, tx) < (${after.at}, ${after.tx}) ` : raw('')
  return sql`${beyond}${raw(isCount ? '' : 'ORDER BY paid_at DESC, tx DESC ')}LIMIT ${most}`
}

/**
 * The lists of one kind, or of all kinds. Observed payments are read first: a payment that is claimed in between is
 * then in both lists.
 */
export function selectProblems(kind: ProblemKind | undefined, asked: ProblemQuery, dialect: Dialect) {
  const isAsked = (one: ProblemKind): boolean => kind === undefined || one === kind
  return {
    seen: seenKinds.filter(isAsked).map((one) => selectSeen(one, asked, dialect)),
    registered: registeredKinds.filter(isAsked).map((one) => selectRegistered(one, asked, dialect)),
  }
}

export type RegisteredRow = PaymentListRow & {
  readonly kind: RegisteredKind
  readonly required: string
  readonly usable_until: Whole
}
export type SeenRow = SightingRow & { readonly kind: SeenKind }

export function readRegistered(row: RegisteredRow): Problem {
  const { kind, required, usable_until } = row
  return { kind, payment: readPaymentListItem(row), required: BigInt(required), until: Number(usable_until) }
}

export function readSeen(row: SeenRow, now: number): Problem {
  return readProblem(readSighting(row), row.kind, now)
}

/** The history of one payment: its registration, its observation, and its unclaimed state. */
export function* findHistory(dialect: Dialect, tx: Uint8Array, now: number): Work<History | undefined> {
  const times = raw('registered_at, delivered_at, delivered_last, undelivered_at, concluded_at, refunded_at')
  // In this order, a payment that is claimed in between is in both results.
  const unclaimed = yield* first<ListedSightingRow>(
    sql`SELECT ${observationColumns(dialect)} FROM {unclaimed} AS seen WHERE tx = ${tx}`,
  )
  const registered = yield* first<HistoryRow>(
    sql`SELECT ${listColumns(dialect)}, required, ${times} FROM {payments} WHERE tx = ${tx}`,
  )
  const seen = yield* first<{ readonly seen_at: Time }>(
    sql`SELECT seen_at FROM {sightings} WHERE tx = ${tx} AND slot > 0`,
  )
  return readHistory(registered, seen, unclaimed, now)
}

type Time = Whole | null

type HistoryRow = PaymentListRow & {
  readonly required: string
  readonly registered_at: Whole
  readonly delivered_at: Time
  readonly delivered_last: Time
  readonly undelivered_at: Time
  readonly concluded_at: Time
  readonly refunded_at: Time
}

function readHistory(
  row: HistoryRow | undefined,
  seen: { readonly seen_at: Time } | undefined,
  unclaimed: ListedSightingRow | undefined,
  now: number,
): History | undefined {
  const seenAt = readTimeOrNone(seen?.seen_at)
  const shown = { isShown: row !== undefined || seen !== undefined, seenAt }
  if (row) {
    return {
      payment: readPaymentListItem(row),
      required: BigInt(row.required),
      ...shown,
      ...timesOf(row),
      claimableUntil: undefined,
    }
  }
  if (!unclaimed) return undefined
  const { required, claimableUntil } = readSighting(unclaimed)
  return { payment: readObservation(unclaimed, now), required, ...shown, ...timesOf(undefined), claimableUntil }
}

function timesOf(row: HistoryRow | undefined) {
  return {
    registeredAt: readTimeOrNone(row?.registered_at),
    deliveredAt: readTimeOrNone(row?.delivered_at),
    deliveredLast: readTimeOrNone(row?.delivered_last),
    undeliveredAt: readTimeOrNone(row?.undelivered_at),
    concludedAt: readTimeOrNone(row?.concluded_at),
    refundedAt: readTimeOrNone(row?.refunded_at),
  }
}
