/**
 * The SQLite schema and the way to it.
 *
 * Steps only go forward and are never edited once released: a new one is added at the end. All of them run in one
 * transaction that holds the write lock, so two processes that open a file at once make one schema.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { LedgerConfigurationError } from './identity.ts'

/**
 * Money (u64) does not fit SQLite's integers and is text. `scope` is text as `sqlite.ts` writes it. A late payment has
 * state 'late'; one that the chain took back has finality 'reverted'; grants exist only while they are held, so the row of the payment is all that stays of a delivery.
 */
export const steps: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    tx BLOB NOT NULL UNIQUE CHECK (length(tx) = 64),
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    scope TEXT NOT NULL,
    recipient TEXT NOT NULL,
    token TEXT NOT NULL,
    required TEXT NOT NULL,
    received TEXT NOT NULL,
    unit TEXT NOT NULL CHECK (unit IN ('request', 'byte', 'second')),
    amount INTEGER NOT NULL CHECK (amount > 0),
    slot INTEGER NOT NULL,
    paid_at INTEGER NOT NULL,
    usable_until INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('valid', 'late')),
    finality TEXT NOT NULL DEFAULT 'confirmed' CHECK (finality IN ('confirmed', 'finalized', 'reverted')),
    used INTEGER NOT NULL DEFAULT 0 CHECK (used BETWEEN 0 AND amount),
    deliveries INTEGER NOT NULL DEFAULT 0,
    free_uses INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE grants (
    payment INTEGER NOT NULL REFERENCES payments (id),
    fence INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    deadline INTEGER NOT NULL,
    PRIMARY KEY (payment, fence)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE INDEX payments_unfinal ON payments (slot) WHERE finality = 'confirmed';
  CREATE TABLE sightings (
    tx BLOB PRIMARY KEY CHECK (length(tx) = 64),
    recipient TEXT NOT NULL,
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    token TEXT NOT NULL,
    received TEXT NOT NULL,
    slot INTEGER NOT NULL,
    paid_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sightings_slot ON sightings (slot);
  CREATE TABLE marks (address TEXT PRIMARY KEY, signature TEXT NOT NULL, slot INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // SQLite cannot change a CHECK: the tables are written anew.
  `
  CREATE TABLE next_payments (
    id INTEGER PRIMARY KEY,
    tx BLOB NOT NULL UNIQUE CHECK (length(tx) = 64),
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    scope TEXT NOT NULL,
    recipient TEXT NOT NULL,
    token TEXT NOT NULL,
    required TEXT NOT NULL,
    received TEXT NOT NULL,
    unit TEXT NOT NULL CHECK (unit IN ('request', 'byte', 'second', 'file')),
    amount INTEGER NOT NULL CHECK (amount > 0),
    slot INTEGER NOT NULL,
    paid_at INTEGER NOT NULL,
    usable_until INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('valid', 'late')),
    finality TEXT NOT NULL DEFAULT 'confirmed' CHECK (finality IN ('confirmed', 'finalized', 'reverted')),
    used INTEGER NOT NULL DEFAULT 0 CHECK (used BETWEEN 0 AND amount),
    deliveries INTEGER NOT NULL DEFAULT 0,
    free_uses INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    positions TEXT NOT NULL DEFAULT ''
  ) STRICT;
  INSERT INTO next_payments SELECT *, '' FROM payments;
  CREATE TABLE next_grants (
    payment INTEGER NOT NULL REFERENCES next_payments (id),
    fence INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    deadline INTEGER NOT NULL,
    first INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (payment, fence)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO next_grants SELECT *, 0 FROM grants;
  DROP TABLE grants;
  DROP TABLE payments;
  ALTER TABLE next_payments RENAME TO payments;
  ALTER TABLE next_grants RENAME TO grants;
  CREATE INDEX payments_unfinal ON payments (slot) WHERE finality = 'confirmed';
  `,
]

const fullSynchronous = 2

/** Marks a file as ours ("pays"), so that the database of another program is never written to. */
const applicationId = 0x70617973

/** Brings the schema up to date. To be called inside a transaction that holds the write lock. */
export function migrate(db: DatabaseSyncInstance, file: string): void {
  const version = checkOrigin(db, file)
  for (const step of steps.slice(version)) db.exec(step)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}`)
}

/**
 * Refuses what another program or a newer version wrote, and answers the version of the schema, 0 for a new file.
 * To be called inside a transaction, since it looks more than once.
 */
export function checkOrigin(db: DatabaseSyncInstance, file: string): number {
  const version = Number(readPragma(db, 'user_version'))
  const origin = readPragma(db, 'application_id')
  const isNew = version === 0 && origin === 0 && isEmpty(db)
  if (!isNew && origin !== applicationId) {
    throw new LedgerConfigurationError(
      `The file ${file} is the database of another program: give the ledger a file of its own.`,
    )
  }
  if (version > steps.length) {
    throw new LedgerConfigurationError(
      `The ledger ${file} was written by a newer paystile (schema ${version}, this one knows ${steps.length}): ` +
        'run that version or a later one.',
    )
  }
  return version
}

/** Refuses a database that could forget what it has acknowledged: kept in memory, or not written through to the disk. */
export function checkDurability(db: DatabaseSyncInstance, file: string): void {
  const journal = readPragma(db, 'journal_mode')
  if (journal !== 'wal') {
    throw new LedgerConfigurationError(
      `The ledger ${file} cannot keep a write-ahead log (SQLite answers "${journal}"): put it on a local disk.`,
    )
  }
  const synchronous = readPragma(db, 'synchronous')
  if (synchronous !== fullSynchronous) {
    throw new LedgerConfigurationError(
      `The ledger ${file} is not written through to the disk (SQLite answers synchronous=${synchronous}): ` +
        'use the @photostructure/sqlite package as published.',
    )
  }
}

function isEmpty(db: DatabaseSyncInstance): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

function readPragma(db: DatabaseSyncInstance, name: string): number | string | undefined {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, number | string> | undefined
  return row?.[name]
}
