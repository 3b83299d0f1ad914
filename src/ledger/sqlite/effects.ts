/** The effects of a granted payment, in the same transaction. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { LedgerEventKind } from '../../core/ports/outbox.ts'

export type Tell = (kinds: readonly LedgerEventKind[], tx: Uint8Array, now: number) => void

/** Writes events, if a receiver is configured. Call it inside a transaction. */
export function prepareTelling(db: DatabaseSyncInstance): Tell {
  const insert = db.prepare(`
    INSERT INTO notices (id, kind, tx, at, due) SELECT 'msg_' || lower(hex(randomblob(16))), ?1, ?2, ?3, ?3
    WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'notices')`)
  return (kinds, tx, now) => {
    for (const kind of kinds) insert.run(kind, tx, now)
  }
}

export type Ripen = (tx: Uint8Array, paidAt: number) => void

/** Queues a final payment for accrual. Call it inside a transaction. */
export function prepareRipening(db: DatabaseSyncInstance): Ripen {
  const insert = db.prepare(`
    INSERT OR IGNORE INTO ripening (tx, paid_at, due) SELECT ?, ?, 0
    WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'rewards')`)
  return (tx, paidAt) => void insert.run(tx, paidAt)
}
