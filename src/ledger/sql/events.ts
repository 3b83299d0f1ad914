/** Events for receivers outside the service, written in the transaction of the change that they report. */
import type { LedgerEventKind, LedgerEvents } from '../../core/ports/outbox.ts'
import type { Clock } from '../../core/runtime.ts'
import type { EventRow } from '../rules/events.ts'
import { chooseLapsed, clearedAtOnce, eventColumns, keptMs, readEvent, settlingMs } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { checkCount } from '../rules/periods.ts'
import { formatText } from '../stored-text.ts'
import { all, type Dialect, first, isAny, join, raw, type SqlStore, sql, type Whole, type Work } from './work.ts'

/** The number of payments read in one transaction, and the highest number of such transactions in one sweep. */
const visitedAtOnce = 5_000
const mostTurns = 20

const columns = raw(eventColumns)

export interface FreshEvent {
  readonly tx: Uint8Array
  readonly kind: LedgerEventKind
}

/** Writes events, if a receiver is configured. */
export function* writeEvents({ given, noticeId }: Dialect, events: readonly FreshEvent[], now: number): Work<void> {
  if (events.length === 0) return
  const fresh = given<FreshEvent>(events, { tx: ['bytea', ({ tx }) => tx], kind: ['text', ({ kind }) => kind] })
  yield sql`INSERT INTO {notices} (id, kind, tx, at, due)
    SELECT ${noticeId}, kind, tx, CAST(${now} AS bigint), CAST(${now} AS bigint) FROM ${fresh}
    WHERE EXISTS (SELECT 1 FROM {meta} WHERE key = 'notices')`
}

export function createEvents(store: SqlStore, clock: Clock): LedgerEvents {
  const { dialect } = store
  const { skipLocked } = dialect
  return {
    start: () => store.transact(() => start(dialect, readTime(clock))),
    async sweep(most) {
      let written = 0
      for (let turn = 0; turn < mostTurns && written < most; turn += 1) {
        const limit = Math.min(checkCount(most - written), visitedAtOnce)
        const found = await store.transact(() => sweepOnce(dialect, limit, readTime(clock)))
        written += found.written
        if (!found.isMore) break
      }
      return written
    },
    notify: (kind, about) => store.transact(() => writeEvents(dialect, [{ tx: about, kind }], readTime(clock))),
    spread: (listeners, most) =>
      store.transact(function* () {
        const fresh = yield* all<Pick<EventRow, 'id' | 'kind'>>(sql`SELECT id, kind FROM {notices}
          WHERE state = 'waiting' AND target = '' ORDER BY due LIMIT ${checkCount(most)} ${skipLocked}`)
        const copies = fresh.flatMap(({ id, kind }) =>
          listeners.filter(({ events }) => events.includes(kind)).map(({ name }) => ({ id, name })),
        )
        const named = dialect.given(copies, { id: ['text', ({ id }) => id], name: ['text', ({ name }) => name] })
        if (copies.length > 0)
          yield sql`INSERT INTO {notices} (id, kind, target, tx, at, due)
            SELECT kept.id || '_' || name, kind, name, tx, at, due FROM ${named} JOIN {notices} AS kept ON kept.id = given.id`
        const gone = dialect.given(fresh, { id: ['text', ({ id }) => id] })
        if (fresh.length > 0) yield sql`DELETE FROM {notices} WHERE id IN (SELECT id FROM ${gone})`
        return fresh.length
      }),
    async take(target, most, leaseMs) {
      const rows = await store.write(() => {
        const now = readTime(clock)
        // Two servers never get the same event.
        return all<EventRow>(sql`WITH waiting AS (
            SELECT id FROM {notices} WHERE state = 'waiting' AND target = ${target} AND due <= ${now}
            ORDER BY due LIMIT ${checkCount(most)} ${skipLocked})
          UPDATE {notices} SET due = ${now + Math.ceil(leaseMs)} WHERE id IN (SELECT id FROM waiting) RETURNING ${columns}`)
      })
      return rows.map(readEvent).sort((one, other) => one.at - other.at)
    },
    told: (id) =>
      store.write(function* () {
        yield sql`UPDATE {notices} SET state = 'told', why = '', attempts = attempts + 1 WHERE id = ${id}`
        yield sql`DELETE FROM {notices} WHERE id IN (
          SELECT id FROM {notices} WHERE state = 'told' AND at < ${readTime(clock) - keptMs}
          ORDER BY at LIMIT ${raw(String(clearedAtOnce))} ${skipLocked})`
      }),
    failed: (id, why, again) =>
      store.write(function* () {
        const state = again === undefined ? 'failed' : 'waiting'
        const due = again === undefined ? null : Math.ceil(again)
        // Another server may have sent it after the lease of this one.
        yield sql`UPDATE {notices} SET state = ${state}, why = ${formatText(why)}, due = coalesce(${due}, due),
          attempts = attempts + 1 WHERE id = ${id} AND state = 'waiting'`
      }),
    list: ({ id, state, most }) =>
      store.read(function* () {
        const conditions = [
          ...(id === undefined ? [] : [sql`id = ${id}`]),
          ...(state === undefined ? [] : [sql`state = ${state}`]),
        ]
        const isOwn = conditions.length === 0 ? raw('') : sql`WHERE ${join(conditions, ' AND ')}`
        const rows = yield* all<EventRow>(
          sql`SELECT ${columns} FROM {notices} ${isOwn} ORDER BY at DESC, id DESC LIMIT ${checkCount(most)}`,
        )
        return rows.map(readEvent)
      }),
    resend: (id) =>
      store.write(() =>
        isAny(sql`UPDATE {notices} SET state = 'waiting', due = ${readTime(clock)}, attempts = 0 WHERE id = ${id}
          RETURNING id`),
      ),
  }
}

const isPast = ({ not }: Dialect, time: number) =>
  sql`${not('late')} AND ${not('told')} AND claimable_until > 0 AND claimable_until < ${time}`

function* start(dialect: Dialect, now: number): Work<void> {
  const until = now - settlingMs
  const isBegun = yield* isAny(sql`INSERT INTO {meta} (key, value)
    VALUES ('notices', ${String(now)}), ('swept', ${String(until)}) ON CONFLICT (key) DO NOTHING RETURNING key`)
  if (isBegun) yield* markTold(dialect, until)
}

interface SeenRow {
  readonly tx: Uint8Array
  readonly slot: Whole
  readonly request: string
  readonly unclaimed: boolean | bigint
}

/** Marks expired rows, in the order in which other transactions lock them. */
function* markTold(dialect: Dialect, until: number, most?: number): Work<readonly SeenRow[]> {
  const past = isPast(dialect, until)
  const found =
    most === undefined
      ? past
      : sql`tx IN (SELECT tx FROM {unclaimed} WHERE ${past}
    ORDER BY claimable_until LIMIT ${most}) AND ${past}`
  const rows = yield* all<SeenRow>(sql`SELECT tx, slot, request, ${dialect.isUnclaimed('seen')} AS unclaimed
    FROM {unclaimed} AS seen WHERE ${found} ORDER BY tx ${dialect.lock('seen')}`)
  const told = dialect.given(rows, { tx: ['bytea', ({ tx }) => tx] })
  if (rows.length > 0) yield sql`UPDATE {unclaimed} SET told = true WHERE tx IN (SELECT tx FROM ${told})`
  return rows
}

interface LapsedRow {
  readonly tx: Uint8Array
  readonly usable_until: Whole
  readonly held: boolean | bigint
}

/** Finds payments that expired since the last sweep. Each row is read once. */
function* sweepOnce(dialect: Dialect, most: number, now: number) {
  // The sweep locks this row, so that no event is written twice.
  const swept = yield* first<{ readonly value: string }>(
    sql`SELECT value FROM {meta} WHERE key = 'swept' ${dialect.lock()}`,
  )
  if (!swept) return { written: 0, isMore: false }
  const tell = (kind: LedgerEventKind, rows: readonly { readonly tx: Uint8Array }[]) =>
    writeEvents(
      dialect,
      rows.map(({ tx }) => ({ tx, kind })),
      now,
    )
  const until = now - settlingMs
  const seen = yield* markTold(dialect, until, most)
  // A transaction that only a proof named may not exist.
  const real = seen.filter(({ slot, request, unclaimed }) => unclaimed && Number(slot) > 0 && request !== '')
  yield* tell('payment.expired', real)
  if (real.length === most) return { written: most, isMore: true }

  const mark = Number(swept.value)
  const span = (end: number) => sql`usable_until > ${mark} AND usable_until <= ${end}`
  const bound = yield* first<{ readonly bound: Whole }>(sql`SELECT usable_until AS bound FROM {payments}
    WHERE ${span(until)} ORDER BY usable_until LIMIT 1 OFFSET ${raw(String(visitedAtOnce - 1))}`)
  const end = bound ? Number(bound.bound) : until
  const rows = yield* all<LapsedRow>(sql`SELECT tx, usable_until, ${dialect.isHeld(now)} AS held FROM {payments}
    WHERE ${span(end)} AND NOT (${dialect.late()}) AND finality <> 'reverted' AND unit <> 'second'
      AND used = 0 AND deliveries = 0 AND positions = '' AND refunded_at IS NULL ORDER BY usable_until`)
  const lapsed = rows.map(({ tx, usable_until, held }) => ({
    tx,
    usableUntil: Number(usable_until),
    isHeld: Boolean(held),
  }))
  const chosen = chooseLapsed(lapsed, end, most - real.length, now)
  if (chosen.mark > mark) yield sql`UPDATE {meta} SET value = ${String(chosen.mark)} WHERE key = 'swept'`
  yield* tell('payment.undelivered', chosen.told)
  return { written: real.length + chosen.told.length, isMore: bound !== undefined && chosen.mark === end }
}
