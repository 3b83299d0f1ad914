/** Outgoing transactions: payouts, conversions and refunds, from the plan until they have landed or were dropped. */
import type {
  OutgoingTransaction,
  OutgoingTransactions,
  PayoutLine,
  PlannedTransaction,
  Planning,
  SigningResult,
} from '../../../core/payouts/ports/outgoing.ts'
import type { PayeeName } from '../../../core/payouts/ports/rewards.ts'
import type { Clock } from '../../../core/runtime.ts'
import { createLandingEvent } from '../../rules/events.ts'
import { readTime } from '../../rules/grants.ts'
import {
  checkGross,
  checkPlan,
  computePlanned,
  computeSent,
  dropping,
  isCounted,
  isReady,
  keyOfPayee,
  landing,
  paidBy,
  releasedBy,
  reservedBy,
  type StateChange,
  sentBy,
  signing,
  stepTo,
  unsigning,
} from '../../rules/payables.ts'
import { checkCount } from '../../rules/periods.ts'
import { listLines, refundChange } from '../../rules/totals.ts'
import { formatText } from '../../stored-text.ts'
import { findRefund } from '../books/totals.ts'
import { writeEvents } from '../events.ts'
import type { Columns, Dialect, Query, SqlStore, Whole, Work } from '../work.ts'
import { all, first, isAny, join, raw, readMoney, sql } from '../work.ts'
import { addToPayees, findPayees, isPayee } from './payee-balances.ts'
import type { LineRow, OutgoingTransactionRow } from './rows.ts'
import { lineColumns, outgoingColumns, readLine, readOutgoingTransaction, readPayee, steppedValues } from './rows.ts'

const isOpen = raw("state IN ('planned', 'signed')")
const select = sql`SELECT ${raw(outgoingColumns)} FROM {dispatches}`
/** Dropped transactions do not count, so the latest other one of a key applies. */
const latestOfKey = raw("lane <> '' AND state <> 'dropped' ORDER BY at DESC, id DESC LIMIT 1")

export function createOutgoingTransactions(store: SqlStore, clock: Clock): OutgoingTransactions {
  const { dialect } = store
  const stepped = function* (id: string, version: number, change: StateChange): Work<OutgoingTransaction | undefined> {
    const row = yield* first<OutgoingTransactionRow>(sql`${select} WHERE id = ${formatText(id)} ${dialect.lock()}`)
    return stepTo(row && readOutgoingTransaction(row), version, change, readTime(clock))
  }
  /** `then` runs in the same transaction. It may change payables. */
  const step = (
    id: string,
    version: number,
    change: StateChange,
    then?: (outgoing: OutgoingTransaction, voids: Uint8Array | null) => Work<void>,
  ) => {
    const work = function* () {
      const outgoing = yield* stepped(id, version, change)
      if (!outgoing) return undefined
      const voids = yield* update(outgoing)
      if (then) yield* then(outgoing, voids)
      return outgoing
    }
    return then ? store.transactPayables(work) : store.transact(work)
  }

  return {
    async plan(plan) {
      checkPlan(plan)
      const planning = await store.transactPayables(() => planNow(dialect, plan, readTime(clock)))
      // Thrown outside the transaction, where it would count as a failure of the database.
      if (planning.kind === 'wrong') checkGross(planning.line, planning.gross)
      return planning as Planning
    },
    sign(id, version, signed, about, budget) {
      const work = function* (): Work<SigningResult> {
        const outgoing = yield* stepped(id, version, signing(signed, about))
        if (!outgoing) return { kind: 'passed' }
        if (isCounted(outgoing)) {
          if (budget && (yield* countSignings(budget.since)) >= budget.most) return { kind: 'spent' }
          const { changedAt, attempts } = outgoing
          yield sql`INSERT INTO {signings} (at, dispatch, attempt) VALUES (${changedAt}, ${formatText(id)}, ${attempts})`
        }
        yield* update(outgoing)
        return { kind: 'signed', transaction: outgoing }
      }
      return budget ? store.transactPayables(work) : store.transact(work)
    },
    unsign: (id, version, why, hasFailed) => step(id, version, unsigning(why, hasFailed)),
    land: (id, version, slot, about) =>
      step(id, version, landing(slot, about), function* (outgoing) {
        yield* addToPayees(dialect, paidBy(yield* readLines(id)))
        const refunded = outgoing.kind === 'refund' ? yield* findRefund(dialect, id) : undefined
        if (refunded) yield* dialect.addLines(listLines([refundChange(refunded.booked, refunded.refund)]))
        yield* writeEvents(dialect, [createLandingEvent(outgoing)], outgoing.changedAt)
      }),
    drop: (id, version, why) =>
      step(id, version, dropping(why), function* (_, voids) {
        const lines = yield* readLines(id)
        yield* addToPayees(dialect, releasedBy(lines))
        yield* moveTo(
          dialect,
          lines.map(({ role, payee, from }) => ({ role, payee, settledThrough: from })),
        )
        if (voids) yield sql`UPDATE {payments} SET refunded_at = NULL${dialect.nextVersion} WHERE tx = ${voids}`
      }),
    ...createReads(store),
  }
}

type Reads = Omit<OutgoingTransactions, 'plan' | 'sign' | 'unsign' | 'land' | 'drop'>

function createReads(store: SqlStore): Reads {
  const { dialect } = store
  return {
    open: () => store.read(() => readAll(sql`${select} WHERE ${isOpen} ORDER BY at, id`)),
    get: (id) => store.read(() => find(id)),
    findByLockKey: (key) =>
      store.read(function* () {
        return (yield* readAll(sql`${select} WHERE lane = ${formatText(key)} AND ${latestOfKey}`))[0]
      }),
    findByLockKeys: (keys) =>
      store.read(function* () {
        const asked = dialect.given(keys, { name: ['text', formatText] })
        const ids = sql`SELECT (SELECT id FROM {dispatches} WHERE lane = given.name AND ${latestOfKey}) FROM ${asked}`
        const found = yield* readAll(sql`${select} WHERE id IN (${ids})`)
        const byKey = new Map(found.map((outgoing) => [outgoing.lockKey, outgoing]))
        return keys.map((key) => byKey.get(key))
      }),
    lines: (id) => store.read(() => readLines(id)),
    list: ({ kind, state, after, most }) => {
      const isOwn = [
        ...(kind ? [sql`kind = ${kind}`] : []),
        ...(state ? [sql`state = ${state}`] : []),
        sql`(at, id) < (${after?.at ?? Number.MAX_SAFE_INTEGER}, ${formatText(after?.id ?? '')})`,
      ]
      const where = join(isOwn, ' AND ')
      return store.read(() =>
        readAll(sql`${select} WHERE ${where} ORDER BY at DESC, id DESC LIMIT ${checkCount(most)}`),
      )
    },
    linesOf: (name, most) =>
      store.read(function* () {
        const rows = yield* all<LineRow & { readonly dispatch: string }>(sql`SELECT ${raw(lineColumns)}, dispatch
          FROM {payout_lines} WHERE ${isPayee(name)} ORDER BY at DESC, dispatch DESC LIMIT ${checkCount(most)}`)
        const ids = dialect.given(rows, { id: ['text', ({ dispatch }) => dispatch] })
        const found = yield* readAll(sql`${select} WHERE id IN (SELECT id FROM ${ids})`)
        const byId = new Map(found.map((outgoing) => [formatText(outgoing.id), outgoing]))
        return rows.flatMap((row) => {
          const outgoing = byId.get(row.dispatch)
          return outgoing ? [{ ...readLine(row), transaction: outgoing }] : []
        })
      }),
    planned: (since) => store.read(() => sumPlanned(dialect, since)),
    signings: (since) => store.read(() => countSignings(since)),
  }
}

function* readAll(query: Query): Work<readonly OutgoingTransaction[]> {
  return (yield* all<OutgoingTransactionRow>(query)).map(readOutgoingTransaction)
}

function* find(id: string): Work<OutgoingTransaction | undefined> {
  return (yield* readAll(sql`${select} WHERE id = ${formatText(id)}`))[0]
}

/** Writes a step. Returns the payment that the transaction voids. */
function* update(outgoing: OutgoingTransaction): Work<Uint8Array | null> {
  const changes = Object.entries(steppedValues(outgoing)).map(([column, value]) => sql`${raw(column)} = ${value}`)
  const row = yield* first<{ readonly voids: Uint8Array | null }>(
    sql`UPDATE {dispatches} SET ${join(changes, ', ')} WHERE id = ${formatText(outgoing.id)} RETURNING voids`,
  )
  return row?.voids ?? null
}

/** A line whose amount differs from its accruals. */
interface WrongLine {
  readonly kind: 'wrong'
  readonly line: PayoutLine
  readonly gross: bigint
}

function* planNow(dialect: Dialect, plan: PlannedTransaction, now: number): Work<Planning | WrongLine> {
  const { kind, lockKey: key, lines, cap, voids, refunds } = plan
  if (yield* isTaken(plan)) return { kind: 'taken' }
  if (voids && !(yield* makeVoid(dialect, voids, plan.coversUse === true, now))) return { kind: 'in_use' }
  const refusal = yield* checkLines(dialect, lines, now)
  if (refusal) return refusal
  if (cap && kind === 'payout' && (yield* sumPlanned(dialect, cap.since)) + sentBy(lines) > cap.units)
    return { kind: 'capped' }
  const outgoing = computePlanned(plan, now)
  const values = {
    ...{ id: formatText(plan.id), kind, lane: formatText(key), at: now, sent: String(computeSent(plan)) },
    ...{ voids: voids ?? null, payment: refunds?.tx ?? null },
    ...steppedValues(outgoing),
  }
  const places = Object.values(values).map((value) => sql`${value}`)
  yield sql`INSERT INTO {dispatches} (${raw(Object.keys(values).join(', '))}) VALUES (${join(places, ', ')})`
  yield* reserve(dialect, outgoing, lines)
  return { kind: 'planned', transaction: outgoing }
}

function* isTaken({ id, kind, lockKey: key }: PlannedTransaction): Work<boolean> {
  const name = formatText(key)
  const underWay = sql`SELECT 1 FROM {dispatches} WHERE lane = ${name} AND lane <> '' AND ${isOpen}`
  const refund = sql`SELECT 1 FROM {dispatches} WHERE lane = ${name} AND kind = 'refund' AND state <> 'dropped'`
  return (yield* find(id)) !== undefined || (yield* isAny(underWay)) || (kind === 'refund' && (yield* isAny(refund)))
}

/** False if the payment is being delivered or refunded, or was delivered in part and the refund does not cover that. */
function* makeVoid(dialect: Dialect, tx: Uint8Array, coversUse: boolean, now: number): Work<boolean> {
  const isVoided = yield* isAny(sql`SELECT 1 FROM {dispatches} WHERE voids = ${tx} AND state <> 'dropped'`)
  if (isVoided) return false
  const isUnused = sql`(${dialect.late()} OR unit <> 'second' AND used = 0 AND deliveries = 0 AND positions = '')`
  const isSet =
    yield* isAny(sql`UPDATE {payments} SET refunded_at = ${now}${dialect.withoutLeases}${dialect.nextVersion}
    WHERE tx = ${tx} AND finality <> 'reverted' AND refunded_at IS NULL
      ${coversUse ? raw('') : sql`AND ${isUnused}`} AND NOT ${dialect.isHeld(now)} RETURNING tx`)
  if (isSet) {
    yield* dialect.letGo(tx)
    return true
  }
  const known = sql`SELECT 1 FROM {payments} WHERE tx = ${tx}`
  if (yield* isAny(known)) return false
  // An unregistered payment has no row to lock, so registration is blocked until the refund is recorded.
  yield* dialect.blockRegistrations()
  return !(yield* isAny(known))
}

/** Undefined if every payee is in the state that its line expects. */
function* checkLines(
  dialect: Dialect,
  lines: readonly PayoutLine[],
  now: number,
): Work<WrongLine | { readonly kind: 'taken' } | undefined> {
  if (lines.length === 0) return undefined
  const payees = yield* findPayees(dialect, lines)
  const isEveryReady = lines.every((line) => {
    const row = payees.get(keyOfPayee({ role: line.role, payee: formatText(line.payee) }))
    return isReady(row && readPayee(row, now), line)
  })
  if (!isEveryReady) return { kind: 'taken' }
  const rows = yield* all<{ readonly place: Whole; readonly gross: string }>(sql`SELECT place,
      (SELECT ${dialect.total('shared.units')} FROM {shares} AS shared WHERE shared.role = given.role
        AND shared.payee = given.payee AND number > given.after AND number <= given.upto) AS gross
    FROM ${dialect.given([...lines.entries()], numberedLines)}`)
  const counted = rows.flatMap(({ place, gross }) => {
    const line = lines[Number(place)]
    return line ? [{ line, gross: readMoney(gross) }] : []
  })
  const wrong = counted.find(({ line, gross }) => line.gross !== gross)
  return wrong && { kind: 'wrong', ...wrong }
}

const numberedLines: Columns<readonly [place: number, line: PayoutLine]> = {
  place: ['bigint', ([place]) => place],
  role: ['text', ([, { role }]) => role],
  payee: ['text', ([, { payee }]) => formatText(payee)],
  after: ['bigint', ([, { from }]) => from],
  upto: ['bigint', ([, { through }]) => through],
  gross: ['numeric', ([, { gross }]) => String(gross)],
  units: ['numeric', ([, { units }]) => String(units)],
  opening: ['numeric', ([, { opening }]) => String(opening)],
}

function* reserve(dialect: Dialect, { id, at }: OutgoingTransaction, lines: readonly PayoutLine[]): Work<void> {
  if (lines.length === 0) return
  yield sql`INSERT INTO {payout_lines} (dispatch, at, place, ${raw(lineColumns)})
    SELECT CAST(${formatText(id)} AS text), CAST(${at} AS bigint), place, ${raw(lineColumns)}
    FROM ${dialect.given([...lines.entries()], numberedLines)}`
  yield* addToPayees(dialect, reservedBy(lines))
  yield* moveTo(
    dialect,
    lines.map(({ role, payee, through }) => ({ role, payee, settledThrough: through })),
    raw(", why = '', parked_until = 0"),
  )
}

/** Settles payees up to an accrual. */
function* moveTo(
  dialect: Dialect,
  places: readonly (PayeeName & { readonly settledThrough: number })[],
  more: Query = raw(''),
): Work<void> {
  if (places.length === 0) return
  const given = dialect.given(places, {
    role: ['text', ({ role }) => role],
    payee: ['text', ({ payee }) => formatText(payee)],
    upto: ['bigint', ({ settledThrough }) => settledThrough],
  })
  yield sql`UPDATE {payees} AS kept SET upto = given.upto${more} FROM ${given}
    WHERE kept.role = given.role AND kept.payee = given.payee`
}

function* readLines(id: string): Work<readonly PayoutLine[]> {
  const rows = yield* all<LineRow>(
    sql`SELECT ${raw(lineColumns)} FROM {payout_lines} WHERE dispatch = ${formatText(id)} ORDER BY place`,
  )
  return rows.map(readLine)
}

function* sumPlanned({ total }: Dialect, since: number): Work<bigint> {
  const row = yield* first<{ readonly total: string }>(sql`SELECT ${total('sent')} AS total FROM (
    SELECT sent FROM {dispatches} WHERE kind = 'payout' AND state = 'landed' AND changed_at >= ${since} UNION ALL
    SELECT sent FROM {dispatches} WHERE kind = 'payout' AND ${isOpen}) AS counted`)
  return readMoney(row?.total ?? '0')
}

function* countSignings(since: number): Work<bigint> {
  const row = yield* first<{ readonly total: Whole }>(
    sql`SELECT count(*) AS total FROM {signings} WHERE at >= ${since}`,
  )
  return BigInt(row?.total ?? 0)
}
