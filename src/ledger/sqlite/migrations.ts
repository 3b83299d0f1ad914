/**
 * The SQLite schema and its migrations.
 *
 * Released steps are never edited; new steps are added at the end. All steps run in one transaction with the write
 * lock, so two processes that open a file at the same time create one schema.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { checkVersion, LedgerConfigurationError } from '../identity.ts'
import { payablesSchema } from './payables-schema.ts'

/**
 * Money (u64) exceeds SQLite's integers and is stored as text. A sum is two integers, the second below 10^12, because text
 * cannot be added. `scope` is text in the format of `ledger.ts`. A late payment has the state 'late'. A reverted payment
 * has the finality 'reverted'. `splits` has the amounts that other wallets received in the transaction. Grants exist only
 * while they are held, so only the row of the payment remains after a delivery. `returned_slices` counts the slices of a
 * bundle that went back to the payer.
 *
 * The payment list is ordered by time and transaction, but its indexes only by time: the few payments of one second are
 * sorted at the query, and every payment writes less. For the same reason, observed payments that are not claimed yet have
 * their own small table, `unclaimed`: `late` is set after the registration of a late payment, `told` after the event that
 * it expired. Problems are in partial indexes. Payers are counted by day, and found by their amount of the day.
 *
 * Rates are in force from their time until the next rates of the same feed. A token without a rate in an entry has none
 * from then on. `others` has the rates of other tokens than the known ones, as JSON.
 *
 * `submissions` are transactions that the service sends for others. Of one requestId and of one payer, one at a time may be
 * without an outcome. The limits count failures by payer and client address, and add up fees. Fees are stored as sums of
 * ten minutes too, because a day can have many submissions.
 */
const paymentsSchema = `
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
    positions TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL DEFAULT '',
    worth TEXT,
    rates TEXT,
    delivered_at INTEGER,
    delivered_last INTEGER,
    undelivered_at INTEGER,
    concluded_at INTEGER,
    refunded_at INTEGER,
    splits TEXT,
    returned_slices INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX payments_unfinal ON payments (slot) WHERE finality = 'confirmed';
  CREATE INDEX payments_time ON payments (paid_at);
  CREATE INDEX payments_endpoint ON payments (endpoint, paid_at);
  CREATE INDEX payments_token ON payments (token, paid_at);
  CREATE INDEX payments_void ON payments (paid_at) WHERE state = 'late' OR finality = 'reverted';
  CREATE INDEX payments_usable ON payments (usable_until);
  CREATE INDEX payments_payer ON payments (payer, paid_at);
  CREATE INDEX payments_request ON payments (request);
  CREATE INDEX payments_reverted ON payments (paid_at) WHERE finality = 'reverted';
  CREATE INDEX payments_undelivered ON payments (paid_at) WHERE undelivered_at IS NOT NULL;
  CREATE INDEX payments_surplus ON payments (paid_at)
    WHERE (length(received) > length(required) OR length(received) = length(required) AND received > required);
  CREATE TABLE grants (
    payment INTEGER NOT NULL REFERENCES payments (id),
    fence INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    deadline INTEGER NOT NULL,
    first INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (payment, fence)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sightings (
    tx BLOB PRIMARY KEY CHECK (length(tx) = 64),
    recipient TEXT NOT NULL,
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    token TEXT NOT NULL,
    received TEXT NOT NULL,
    slot INTEGER NOT NULL,
    paid_at INTEGER NOT NULL,
    seen_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE unclaimed (
    tx BLOB PRIMARY KEY,
    recipient TEXT NOT NULL,
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    token TEXT NOT NULL,
    received TEXT NOT NULL,
    slot INTEGER NOT NULL,
    paid_at INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    claimable_until INTEGER NOT NULL,
    late INTEGER NOT NULL CHECK (late IN (0, 1)),
    told INTEGER NOT NULL CHECK (told IN (0, 1)),
    required TEXT,
    payable_until INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX unclaimed_slot ON unclaimed (slot, paid_at);
  CREATE INDEX unclaimed_time ON unclaimed (paid_at) WHERE late = 0 AND request <> '';
  CREATE INDEX unclaimed_end ON unclaimed (claimable_until) WHERE late = 0 AND told = 0 AND claimable_until > 0;
  CREATE INDEX unclaimed_request ON unclaimed (request, slot) WHERE request <> '';
  CREATE INDEX unclaimed_unmatched ON unclaimed (paid_at) WHERE late = 0 AND request = '';
  CREATE TABLE marks (address TEXT PRIMARY KEY, signature TEXT NOT NULL, slot INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE rollups (
    grain TEXT NOT NULL,
    at INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    token TEXT NOT NULL,
    payments INTEGER NOT NULL,
    received_hi INTEGER NOT NULL,
    received_lo INTEGER NOT NULL,
    worth_hi INTEGER NOT NULL,
    worth_lo INTEGER NOT NULL,
    unvalued INTEGER NOT NULL,
    refunded_hi INTEGER NOT NULL DEFAULT 0,
    refunded_lo INTEGER NOT NULL DEFAULT 0,
    refunded_worth_hi INTEGER NOT NULL DEFAULT 0,
    refunded_worth_lo INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (grain, at, endpoint, token)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rollups_endpoint ON rollups (grain, endpoint, at);
  CREATE TABLE usage (
    at INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    event TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (at, endpoint, event)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE payers (
    payer TEXT NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    payments INTEGER NOT NULL,
    received_hi INTEGER NOT NULL,
    received_lo INTEGER NOT NULL,
    worth_hi INTEGER NOT NULL,
    worth_lo INTEGER NOT NULL,
    unvalued INTEGER NOT NULL,
    refunded_hi INTEGER NOT NULL DEFAULT 0,
    refunded_lo INTEGER NOT NULL DEFAULT 0,
    refunded_worth_hi INTEGER NOT NULL DEFAULT 0,
    refunded_worth_lo INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (payer, at, token)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX payers_worth ON payers (at, worth_hi, worth_lo);
  CREATE TABLE rates (
    feed TEXT NOT NULL,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    usdc TEXT,
    native TEXT,
    sol TEXT,
    others TEXT,
    PRIMARY KEY (feed, at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rates_at ON rates (at);
  CREATE TABLE shelf (name TEXT PRIMARY KEY, value TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX shelf_until ON shelf (until);
  CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    target TEXT NOT NULL DEFAULT '',
    tx BLOB NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'told', 'failed')),
    due INTEGER NOT NULL,
    why TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE INDEX notices_due ON notices (target, due) WHERE state = 'waiting';
  CREATE INDEX notices_at ON notices (at);
  CREATE INDEX notices_state ON notices (state, at);
  CREATE TABLE submissions (
    tx BLOB NOT NULL PRIMARY KEY CHECK (length(tx) = 64),
    message BLOB NOT NULL UNIQUE CHECK (length(message) = 32),
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    client TEXT NOT NULL,
    sealed TEXT NOT NULL,
    slot INTEGER NOT NULL,
    lamports INTEGER NOT NULL CHECK (lamports >= 0),
    held_until INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT CHECK (outcome IN ('landed', 'failed', 'expired'))
  ) STRICT;
  CREATE UNIQUE INDEX submissions_request ON submissions (request) WHERE outcome IS NULL;
  CREATE UNIQUE INDEX submissions_payer ON submissions (payer) WHERE outcome IS NULL;
  CREATE INDEX submissions_open ON submissions (at, tx) WHERE outcome IS NULL;
  CREATE INDEX submissions_closed ON submissions (outcome, at, lamports) WHERE outcome IS NOT NULL;
  CREATE INDEX submissions_failed_payer ON submissions (payer, at) WHERE outcome = 'failed';
  CREATE INDEX submissions_failed_client ON submissions (client, at) WHERE outcome = 'failed';
  CREATE TABLE submission_sums (
    at INTEGER PRIMARY KEY,
    spent INTEGER NOT NULL,
    lost INTEGER NOT NULL
  ) STRICT;
  `

export const steps: readonly string[] = [`${paymentsSchema}${payablesSchema}`]

const fullSynchronous = 2

/** The application id "pays" marks the file, so that the database of another program is never written. */
const applicationId = 0x70617973

/** Creates or migrates the schema. Call it inside a transaction with the write lock. */
export function migrate(db: DatabaseSyncInstance, file: string): void {
  const version = checkOrigin(db, file)
  for (const step of steps.slice(version)) db.exec(step)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}`)
}

/**
 * Refuses a file of another program or of a newer version. Returns the version of the schema, 0 for a new file. Call it
 * inside a transaction, because it reads more than once.
 */
export function checkOrigin(db: DatabaseSyncInstance, file: string): number {
  const version = Number(readPragma(db, 'user_version'))
  const origin = readPragma(db, 'application_id')
  const isNew = version === 0 && origin === 0 && isEmpty(db)
  if (!isNew && origin !== applicationId) {
    throw new LedgerConfigurationError(
      `The file ${file} is the database of another program`,
      'use a separate file for the ledger',
    )
  }
  checkVersion(file, version, steps.length)
  return version
}

/** Refuses a database that could lose acknowledged commits: in memory, or not flushed to disk. */
export function checkDurability(db: DatabaseSyncInstance, file: string): void {
  const journal = readPragma(db, 'journal_mode')
  if (journal !== 'wal') {
    throw new LedgerConfigurationError(
      `The ledger ${file} cannot keep a write-ahead log (SQLite reports "${journal}")`,
      'put it on a local disk',
    )
  }
  const synchronous = readPragma(db, 'synchronous')
  if (synchronous !== fullSynchronous) {
    throw new LedgerConfigurationError(
      `The ledger ${file} is not flushed to disk (SQLite reports synchronous=${synchronous})`,
      'use the @photostructure/sqlite package as published',
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
