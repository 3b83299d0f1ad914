/** What is to be told, in the ledger's PostgreSQL database, written in the transaction of what it tells of. */
import type { LedgerEventKind, LedgerEvents } from '../../core/ports/outbox.ts'
import type { Clock } from '../../core/runtime.ts'
import type { EventRow } from '../rules/events.ts'
import { chooseLapsed, clearedAtOnce, eventColumns, keptMs, readEvent, settlingMs } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { checkCount } from '../rules/periods.ts'
import { formatText } from '../stored-text.ts'
import type { Database } from './database.ts'
import { isUnclaimed, writeEvents } from './effects.ts'
import type { LedgerRow } from './rows.ts'
import { formatHex, parseLeases } from './rows.ts'

/** How many payments are looked at in one transaction, and how many such a sweep makes at the most. */
const visitedAtOnce = 5_000
const mostTurns = 20

// Who finds one locked passes on to the next: two servers never get the same.
const take = `WITH due AS (SELECT id FROM paystile_notices WHERE state = 'waiting' AND target = $4 AND due <= $1
    ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED)
  UPDATE paystile_notices AS kept SET due = $2 FROM due WHERE kept.id = due.id
  RETURNING ${eventColumns.replace('id', 'kept.id')}`
const spread = `WITH fresh AS (DELETE FROM paystile_notices WHERE id IN (
    SELECT id FROM paystile_notices WHERE state = 'waiting' AND target = '' ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING id, kind, tx, at, due),
  spread AS (INSERT INTO paystile_notices (id, kind, target, tx, at, due)
    SELECT id || '_' || name, kind, name, tx, at, due FROM fresh
    JOIN unnest($2::text[], $3::text[]) AS listener (name, events) ON kind = ANY (string_to_array(events, ' ')))
  SELECT count(*) AS count FROM fresh`
const told = "UPDATE paystile_notices SET state = 'told', why = '', attempts = attempts + 1 WHERE id = $1"
const failed = `UPDATE paystile_notices SET state = $2, why = $3, due = coalesce($4, due), attempts = attempts + 1
  WHERE id = $1`
const resend = "UPDATE paystile_notices SET state = 'waiting', due = $2, attempts = 0 WHERE id = $1 RETURNING id"
const clear = `DELETE FROM paystile_notices WHERE id IN (
  SELECT id FROM paystile_notices WHERE state = 'told' AND at < $1 ORDER BY at LIMIT ${clearedAtOnce}
  FOR UPDATE SKIP LOCKED)`
const list = (isOwn: string) =>
  `SELECT ${eventColumns} FROM paystile_notices ${isOwn} ORDER BY at DESC, id DESC LIMIT $1`

const begin = `INSERT INTO paystile_meta (key, value) VALUES ('notices', $1), ('swept', $2)
  ON CONFLICT (key) DO NOTHING RETURNING key`
// Whoever sweeps holds it: so nothing is told twice.
const hold = "SELECT value FROM paystile_meta WHERE key = 'swept' FOR UPDATE"
const setMark = "UPDATE paystile_meta SET value = $1 WHERE key = 'swept'"
const isPast = 'NOT late AND NOT told AND claimable_until > 0 AND claimable_until < $1'
/** Locked in the one order, as by who registers. */
const mark = (found: string) => `WITH found AS (${found}),
  held AS (SELECT tx FROM paystile_unclaimed WHERE tx IN (SELECT tx FROM found) AND ${isPast} ORDER BY tx FOR UPDATE)
  UPDATE paystile_unclaimed AS seen SET told = true FROM held WHERE seen.tx = held.tx
  RETURNING seen.tx, seen.slot, seen.request, ${isUnclaimed(false)} AS unclaimed`
const skip = mark(`SELECT tx FROM paystile_unclaimed WHERE ${isPast}`)
const expire = mark(`SELECT tx FROM paystile_unclaimed WHERE ${isPast} ORDER BY claimable_until LIMIT $2`)
const bound = `SELECT usable_until AS bound FROM paystile_payments WHERE usable_until > $1 AND usable_until <= $2
  ORDER BY usable_until LIMIT 1 OFFSET ${visitedAtOnce - 1}`
const lapsed = `SELECT tx, usable_until, leases FROM paystile_payments
  WHERE usable_until > $1 AND usable_until <= $2 AND NOT late AND finality <> 'reverted' AND unit <> 'second'
    AND used = 0 AND deliveries = 0 AND positions = '' AND refunded_at IS NULL ORDER BY usable_until`

export function createPostgresEvents(database: Database, clock: Clock): LedgerEvents {
  const all = async <Row>(query: Database['query'], sql: string, values: readonly unknown[]) =>
    (await query(sql, values)) as unknown as readonly Row[]
  const notices = async (sql: string, values: readonly unknown[]) =>
    (await all<EventRow>(database.query, sql, values)).map(readEvent)

  return {
    start: () =>
      database.transact(async (query) => {
        const now = readTime(clock)
        const begun = await query(begin, [String(now), String(now - settlingMs)])
        if (begun.length > 0) await query(skip, [now - settlingMs])
      }),
    async sweep(most) {
      let written = 0
      for (let turn = 0; turn < mostTurns && written < most; turn += 1) {
        const limit = Math.min(checkCount(most - written), visitedAtOnce)
        const found = await database.transact((query) => sweepOnce(query, limit, readTime(clock)))
        written += found.written
        if (!found.isMore) break
      }
      return written
    },
    async spread(listeners, most) {
      const names = listeners.map(({ name }) => name)
      const events = listeners.map((listener) => listener.events.join(' '))
      const [row] = await database.query(spread, [checkCount(most), names, events])
      return Number(row?.['count'])
    },
    async take(target, most, leaseMs) {
      const now = readTime(clock)
      const taken = await notices(take, [now, now + Math.ceil(leaseMs), checkCount(most), target])
      return taken.toSorted((one, other) => one.at - other.at)
    },
    async told(id) {
      await database.query(told, [id])
      await database.query(clear, [readTime(clock) - keptMs])
    },
    async failed(id, why, again) {
      const state = again === undefined ? 'failed' : 'waiting'
      await database.query(failed, [id, state, formatText(why), again === undefined ? null : Math.ceil(again)])
    },
    list: ({ state, most }) =>
      state === undefined
        ? notices(list(''), [checkCount(most)])
        : notices(list('WHERE state = $2'), [checkCount(most), state]),
    async resend(id) {
      return (await database.query(resend, [id, readTime(clock)])).length > 0
    },
  }

  async function sweepOnce(query: Database['query'], most: number, now: number) {
    const [swept] = await all<{ readonly value: string }>(query, hold, [])
    if (!swept) return { written: 0, isMore: false }
    const tell = (kind: LedgerEventKind, rows: readonly { readonly tx: Uint8Array }[]) =>
      query(writeEvents, [rows.map(({ tx }) => formatHex(tx)), rows.map(() => kind), now])
    type SeenRow = Record<'tx', Uint8Array> & Record<'slot' | 'request', string> & Record<'unclaimed', boolean>
    const seen = await all<SeenRow>(query, expire, [now - settlingMs, most])
    // Of what only a proof has named nobody knows whether it was ever paid.
    const real = seen.filter(({ slot, request, unclaimed }) => unclaimed && Number(slot) > 0 && request !== '')
    if (real.length > 0) await tell('payment.expired', real)
    if (real.length === most) return { written: most, isMore: true }

    const until = now - settlingMs
    const mark = Number(swept.value)
    const [row] = await all<{ readonly bound: string }>(query, bound, [mark, until])
    const end = row ? Number(row.bound) : until
    type LapsedRow = Record<'tx', Uint8Array> & Record<'usable_until' | 'leases', string>
    const found = (await all<LapsedRow>(query, lapsed, [mark, end])).map(({ tx, usable_until, leases }) => ({
      tx,
      usableUntil: Number(usable_until),
      isHeld: isHeld(parseLeases(leases), now),
    }))
    const chosen = chooseLapsed(found, end, most - real.length, now)
    if (chosen.mark > mark) await query(setMark, [String(chosen.mark)])
    if (chosen.told.length > 0) await tell('payment.undelivered', chosen.told)
    return { written: real.length + chosen.told.length, isMore: row !== undefined && chosen.mark === end }
  }
}

function isHeld(leases: LedgerRow['leases'], now: number): boolean {
  return [...leases.values()].some(({ deadline }) => deadline > now)
}
