/**
 * The SQLite schema and its migrations.
 *
 * Released steps are never edited; new steps are added at the end. All steps run in one transaction with the write
 * lock, so two processes that open a file at the same time create one schema.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { decodeSignature } from '../../core/encoding/base58.ts'
import { refundedWorth } from '../../core/payouts/refunds.ts'
import { checkVersion, LedgerConfigurationError } from '../identity.ts'
import { duesStep, netStep, signingsStep, voidsStep } from './payables-schema.ts'

/**
 * Money (u64) exceeds SQLite's integers and is stored as text. `scope` is text in the format of `ledger.ts`. A late
 * payment has the state 'late'. A reverted payment has the finality 'reverted'. Grants exist only while they are held,
 * so only the row of the payment remains after a delivery.
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
  // SQLite cannot change a CHECK, so the tables are rewritten.
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
  // The totals of payments. Payments of earlier versions count without a value. A sum is two integers, the second below
  // 10^12: money exceeds one integer, and text cannot be added. The payment list is ordered by time and transaction,
  // but its indexes only by time: the few payments of one second are sorted at the query, and every payment writes
  // less. For the same reason, observed payments that are not claimed yet have their own small table: `late` is set
  // after the registration of a late payment, `told` after the event that it expired.
  `
  ALTER TABLE payments ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
  ALTER TABLE payments ADD COLUMN worth TEXT;
  ALTER TABLE payments ADD COLUMN rates TEXT;
  CREATE INDEX payments_time ON payments (paid_at);
  CREATE INDEX payments_endpoint ON payments (endpoint, paid_at);
  CREATE INDEX payments_token ON payments (token, paid_at);
  CREATE INDEX payments_void ON payments (paid_at) WHERE state = 'late' OR finality = 'reverted';
  CREATE INDEX payments_usable ON payments (usable_until);
  DROP INDEX sightings_slot;
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
    told INTEGER NOT NULL CHECK (told IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX unclaimed_slot ON unclaimed (slot, paid_at);
  CREATE INDEX unclaimed_time ON unclaimed (paid_at) WHERE late = 0 AND request <> '';
  CREATE INDEX unclaimed_end ON unclaimed (claimable_until) WHERE late = 0 AND told = 0 AND claimable_until > 0;
  INSERT INTO unclaimed
  SELECT sightings.*, '', 0, state IS NOT NULL, 0 FROM sightings LEFT JOIN payments ON payments.tx = sightings.tx
  WHERE state IS NULL OR state = 'late';
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
    PRIMARY KEY (grain, at, endpoint, token)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rollups_endpoint ON rollups (grain, endpoint, at);
  WITH
    counted AS (
      SELECT token, paid_at - ((paid_at % 3600000) + 3600000) % 3600000 AS hour, count(*) AS payments,
        sum(CAST(substr(received, 1, length(received) - 12) AS INTEGER)) AS hi,
        sum(CAST(substr(received, max(length(received) - 11, 1)) AS INTEGER)) AS lo
      FROM payments WHERE state = 'valid' AND finality <> 'reverted' GROUP BY 1, 2),
    lines AS (
      SELECT 'all' AS grain, 0 AS at, * FROM counted UNION ALL SELECT 'endpoint', 0, * FROM counted UNION ALL
      SELECT 'hour', hour, * FROM counted UNION ALL SELECT 'hour_endpoint', hour, * FROM counted UNION ALL
      SELECT 'day_endpoint', hour - ((hour % 86400000) + 86400000) % 86400000, * FROM counted)
  INSERT INTO rollups
  SELECT grain, at, '', token, sum(payments), sum(hi) + sum(lo) / 1000000000000, sum(lo) % 1000000000000, 0, 0, sum(payments)
  FROM lines GROUP BY grain, at, token;
  CREATE TABLE usage (
    at INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    event TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (at, endpoint, event)
  ) STRICT, WITHOUT ROWID;
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
  `,
  // For the payer list, the problem list and the payment timeline. Payers are counted by day, and found by their amount
  // of the day. Problems are in partial indexes. Older payments have no times.
  `
  ALTER TABLE payments ADD COLUMN delivered_at INTEGER;
  ALTER TABLE payments ADD COLUMN delivered_last INTEGER;
  ALTER TABLE payments ADD COLUMN undelivered_at INTEGER;
  ALTER TABLE payments ADD COLUMN concluded_at INTEGER;
  UPDATE payments SET undelivered_at = registered_at WHERE state = 'valid' AND finality <> 'reverted' AND unit <> 'second'
    AND used = 0 AND deliveries = 0 AND positions = '';
  CREATE INDEX payments_payer ON payments (payer, paid_at);
  CREATE INDEX payments_request ON payments (request);
  CREATE INDEX payments_reverted ON payments (paid_at) WHERE finality = 'reverted';
  CREATE INDEX payments_undelivered ON payments (paid_at) WHERE undelivered_at IS NOT NULL;
  CREATE INDEX payments_surplus ON payments (paid_at)
    WHERE (length(received) > length(required) OR length(received) = length(required) AND received > required);
  ALTER TABLE sightings ADD COLUMN seen_at INTEGER;
  ALTER TABLE unclaimed ADD COLUMN required TEXT;
  ALTER TABLE unclaimed ADD COLUMN payable_until INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX unclaimed_request ON unclaimed (request, slot) WHERE request <> '';
  CREATE INDEX unclaimed_unmatched ON unclaimed (paid_at) WHERE late = 0 AND request = '';
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
    PRIMARY KEY (payer, at, token)
  ) STRICT, WITHOUT ROWID;
  WITH counted AS (
    SELECT payer, paid_at - ((paid_at % 86400000) + 86400000) % 86400000 AS day, token, count(*) AS payments,
      sum(CAST(substr(received, 1, length(received) - 12) AS INTEGER)) AS hi,
      sum(CAST(substr(received, max(length(received) - 11, 1)) AS INTEGER)) AS lo,
      sum(CAST(substr(worth, 1, length(worth) - 12) AS INTEGER)) AS worth_hi,
      sum(CAST(substr(worth, max(length(worth) - 11, 1)) AS INTEGER)) AS worth_lo,
      sum(worth IS NULL) AS unvalued
    FROM payments WHERE state = 'valid' AND finality <> 'reverted' GROUP BY 1, 2, 3)
  INSERT INTO payers
  SELECT payer, day, token, payments, hi + lo / 1000000000000, lo % 1000000000000,
    coalesce(worth_hi, 0) + coalesce(worth_lo, 0) / 1000000000000, coalesce(worth_lo, 0) % 1000000000000, unvalued
  FROM counted;
  CREATE INDEX payers_worth ON payers (at, worth_hi, worth_lo);
  `,
  duesStep,
  voidsStep,
  signingsStep,
  netStep,
  // Transactions that the service sends for others. Of one requestId and of one payer, one at a time may be without an
  // outcome. The limits count failures by payer and client address, and add up fees. Fees are stored as sums of ten
  // minutes too, because a day can have many submissions.
  `
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
  CREATE TABLE submission_sums (
    at INTEGER PRIMARY KEY,
    spent INTEGER NOT NULL,
    lost INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX submissions_request ON submissions (request) WHERE outcome IS NULL;
  CREATE UNIQUE INDEX submissions_payer ON submissions (payer) WHERE outcome IS NULL;
  CREATE INDEX submissions_open ON submissions (at, tx) WHERE outcome IS NULL;
  CREATE INDEX submissions_closed ON submissions (outcome, at, lamports) WHERE outcome IS NOT NULL;
  CREATE INDEX submissions_failed_payer ON submissions (payer, at) WHERE outcome = 'failed';
  CREATE INDEX submissions_failed_client ON submissions (client, at) WHERE outcome = 'failed';
  `,
  // The rates of other tokens than the known ones, as JSON.
  'ALTER TABLE rates ADD COLUMN others TEXT',
  // The amounts that other wallets received in the transactions of payments.
  'ALTER TABLE payments ADD COLUMN splits TEXT',
  // How often a slice of a bundle went back to the payer.
  'ALTER TABLE payments ADD COLUMN returned_slices INTEGER NOT NULL DEFAULT 0',
]

const fullSynchronous = 2

/** The application id "pays" marks the file, so that the database of another program is never written. */
const applicationId = 0x70617973

/** Creates or migrates the schema. Call it inside a transaction with the write lock. */
export function migrate(db: DatabaseSyncInstance, file: string): void {
  const version = checkOrigin(db, file)
  if (version === 0) createSchema(db)
  else if (version < steps.length) runSteps(db, version)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}`)
}

function runSteps(db: DatabaseSyncInstance, version: number): void {
  prepareFunctions(db)
  for (const step of steps.slice(version)) db.exec(step)
}

let latestSchema: string | undefined

/**
 * Creates the schema of an empty database. The steps run once per process. Later databases get the resulting schema
 * directly, which takes a fifth of the time.
 */
function createSchema(db: DatabaseSyncInstance): void {
  if (latestSchema !== undefined) {
    db.exec(latestSchema)
    return
  }
  runSteps(db, 0)
  const rows = db
    .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'table' DESC, rowid")
    .all()
  latestSchema = (rows as { readonly sql: string }[]).map(({ sql }) => sql).join(';\n')
}

/** Functions that the steps need and SQLite lacks: numbers beyond 64 bits. */
export function prepareFunctions(db: DatabaseSyncInstance): void {
  db.function('signature_bytes', (text: unknown) => decodeSignature(String(text)) ?? null)
  db.function('refunded_worth', (worth: unknown, units: unknown, received: unknown) =>
    String(
      refundedWorth(
        worth === null ? undefined : BigInt(String(worth)),
        BigInt(String(units)),
        BigInt(String(received)),
      ),
    ),
  )
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
