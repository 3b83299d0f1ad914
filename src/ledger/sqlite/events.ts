/** What is to be told, in the ledger's SQLite file, in the transaction of what it tells of. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { LedgerEventKind, LedgerEvents } from '../../core/ports/outbox.ts'
import type { Clock } from '../../core/runtime.ts'
import type { EventRow, Lapsed } from '../rules/events.ts'
import { chooseLapsed, clearedAtOnce, eventColumns, keptMs, readEvent, settlingMs } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import { checkCount } from '../rules/periods.ts'
import { formatText } from '../stored-text.ts'
import type { SqliteFile } from './file.ts'

/** How many payments are looked at in one transaction, and how many such a sweep makes at the most. */
const visitedAtOnce = 5_000
const mostTurns = 20

export type Tell = (kinds: readonly LedgerEventKind[], tx: Uint8Array, now: number) => void

/** Writes down what is to be told, once somebody listens. To be called inside a transaction. */
export function prepareTelling(db: DatabaseSyncInstance): Tell {
  const insert = db.prepare(`
    INSERT INTO notices (id, kind, tx, at, due) SELECT 'msg_' || lower(hex(randomblob(16))), ?1, ?2, ?3, ?3
    WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'notices')`)
  return (kinds, tx, now) => {
    for (const kind of kinds) insert.run(kind, tx, now)
  }
}

export function createSqliteEvents({ db, read, write }: SqliteFile, clock: Clock): LedgerEvents {
  const sweep = prepareSweep(db)
  const due = db.prepare(`
    UPDATE notices SET due = ?2 WHERE id IN
      (SELECT id FROM notices WHERE state = 'waiting' AND target = ?4 AND due <= ?1 ORDER BY due LIMIT ?3)
    RETURNING ${eventColumns}`)
  const fresh = db.prepare("SELECT id, kind FROM notices WHERE state = 'waiting' AND target = '' ORDER BY due LIMIT ?")
  const spread = db.prepare(`
    INSERT INTO notices (id, kind, target, tx, at, due) SELECT id || '_' || ?2, kind, ?2, tx, at, due
    FROM notices WHERE id = ?1`)
  const remove = db.prepare('DELETE FROM notices WHERE id = ?')
  const told = db.prepare("UPDATE notices SET state = 'told', why = '', attempts = attempts + 1 WHERE id = ?")
  const failed = db.prepare(`
    UPDATE notices SET state = ?, why = ?, due = coalesce(?, due), attempts = attempts + 1 WHERE id = ?`)
  const resend = db.prepare("UPDATE notices SET state = 'waiting', due = ?, attempts = 0 WHERE id = ?")
  const clear = db.prepare(`
    DELETE FROM notices WHERE id IN
      (SELECT id FROM notices WHERE state = 'told' AND at < ? ORDER BY at LIMIT ${clearedAtOnce})`)
  const list = db.prepare(`SELECT ${eventColumns} FROM notices ORDER BY at DESC, id DESC LIMIT ?`)
  const listOf = db.prepare(`SELECT ${eventColumns} FROM notices WHERE state = ? ORDER BY at DESC, id DESC LIMIT ?`)

  return {
    start: () => write(() => sweep.start(readTime(clock))),
    async sweep(most) {
      let written = 0
      for (let turn = 0; turn < mostTurns && written < most; turn += 1) {
        const limit = Math.min(checkCount(most - written), visitedAtOnce)
        const found = await write(() => sweep.turn(limit, readTime(clock)))
        written += found.written
        if (!found.isMore) break
      }
      return written
    },
    spread: (listeners, most) =>
      write(() => {
        const found = fresh.all(checkCount(most)) as unknown as Pick<EventRow, 'id' | 'kind'>[]
        for (const { id, kind } of found) {
          for (const { name, events } of listeners) if (events.includes(kind)) spread.run(id, name)
          remove.run(id)
        }
        return found.length
      }),
    async take(target, most, leaseMs) {
      const rows = await write(() => {
        const now = readTime(clock)
        return due.all(now, now + Math.ceil(leaseMs), checkCount(most), target) as unknown as EventRow[]
      })
      return rows.map(readEvent).sort((one, other) => one.at - other.at)
    },
    told: (id) =>
      write(() => {
        told.run(id)
        clear.run(readTime(clock) - keptMs)
      }),
    failed: (id, why, again) =>
      write(() => {
        const state = again === undefined ? 'failed' : 'waiting'
        failed.run(state, formatText(why), again === undefined ? null : Math.ceil(again), id)
      }),
    list: ({ state, most }) =>
      read(() => {
        const rows = state === undefined ? list.all(checkCount(most)) : listOf.all(state, checkCount(most))
        return (rows as unknown as EventRow[]).map(readEvent)
      }),
    resend: (id) => write(() => Number(resend.run(readTime(clock), id).changes) > 0),
  }
}

/** Finds what ran out since it was last looked for: each row is looked at once. */
function prepareSweep(db: DatabaseSyncInstance) {
  const tell = prepareTelling(db)
  const isStarted = db.prepare("SELECT 1 FROM meta WHERE key = 'notices'")
  const begin = db.prepare("INSERT INTO meta (key, value) VALUES ('notices', ?), ('swept', ?)")
  const readMark = db.prepare("SELECT value FROM meta WHERE key = 'swept'")
  const setMark = db.prepare("UPDATE meta SET value = ? WHERE key = 'swept'")
  const isPast = 'late = 0 AND told = 0 AND claimable_until > 0 AND claimable_until < ?'
  const expired = db.prepare(`SELECT tx, slot, request FROM unclaimed WHERE ${isPast} ORDER BY claimable_until LIMIT ?`)
  const setTold = db.prepare('UPDATE unclaimed SET told = 1 WHERE tx = ?')
  const skip = db.prepare(`UPDATE unclaimed SET told = 1 WHERE ${isPast}`)
  const bound = db.prepare(`
    SELECT usable_until AS bound FROM payments WHERE usable_until > ? AND usable_until <= ? ORDER BY usable_until
    LIMIT 1 OFFSET ${visitedAtOnce - 1}`)
  const lapsed = db.prepare(`
    SELECT tx, usable_until, EXISTS (SELECT 1 FROM grants WHERE payment = payments.id AND deadline > ?) AS held FROM payments
    WHERE usable_until > ? AND usable_until <= ? AND state = 'valid' AND finality <> 'reverted' AND unit <> 'second'
      AND used = 0 AND deliveries = 0 AND positions = '' AND refunded_at IS NULL ORDER BY usable_until`)
  type SeenRow = { readonly tx: Uint8Array; readonly slot: number; readonly request: string }
  type LapsedRow = { readonly tx: Uint8Array; readonly usable_until: number; readonly held: number }

  const sweepUnclaimed = (most: number, now: number): number => {
    const rows = expired.all(now - settlingMs, most) as unknown as SeenRow[]
    for (const { tx } of rows) setTold.run(tx)
    // Of what only a proof has named nobody knows whether it was ever paid.
    const real = rows.filter(({ slot, request }) => slot > 0 && request !== '')
    for (const { tx } of real) tell(['payment.expired'], tx, now)
    return real.length
  }
  const sweepUndelivered = (most: number, now: number) => {
    const until = now - settlingMs
    const mark = Number((readMark.get() as { readonly value: string }).value)
    const [row] = bound.all(mark, until) as unknown as { readonly bound: number }[]
    const end = row?.bound ?? until
    const rows = lapsed.all(now, mark, end) as unknown as LapsedRow[]
    const found = rows.map(
      ({ tx, usable_until, held }): Lapsed => ({ tx, usableUntil: usable_until, isHeld: held === 1 }),
    )
    const chosen = chooseLapsed(found, end, most, now)
    if (chosen.mark > mark) setMark.run(String(chosen.mark))
    for (const { tx } of chosen.told) tell(['payment.undelivered'], tx, now)
    return { written: chosen.told.length, isMore: row !== undefined && chosen.mark === end }
  }
  return {
    start: (now: number): void => {
      if (isStarted.get()) return
      begin.run(String(now), String(now - settlingMs))
      skip.run(now - settlingMs)
    },
    turn: (most: number, now: number): { readonly written: number; readonly isMore: boolean } => {
      if (!isStarted.get()) return { written: 0, isMore: false }
      const unclaimed = sweepUnclaimed(most, now)
      if (unclaimed === most) return { written: unclaimed, isMore: true }
      const { written, isMore } = sweepUndelivered(most - unclaimed, now)
      return { written: unclaimed + written, isMore }
    },
  }
}
