/**
 * The PostgreSQL schema and its migrations. Released steps are never edited. All steps run in one transaction under one
 * lock, so several servers can start at the same time.
 */
import type { LedgerIdentity, Remembered } from '../identity.ts'
import { checkIdentity, checkVersion, LedgerConfigurationError } from '../identity.ts'
import type { Database } from './database.ts'
import { duesStep, netStep, signingsStep, voidsStep } from './payables-schema.ts'

export const steps: readonly string[] = [
  `
  CREATE TABLE paystile_payments (
    tx bytea PRIMARY KEY CHECK (length(tx) = 64),
    request text NOT NULL,
    payer text NOT NULL,
    scope text NOT NULL,
    recipient text NOT NULL,
    token text NOT NULL,
    required numeric(20) NOT NULL,
    received numeric(20) NOT NULL,
    unit text NOT NULL,
    amount bigint NOT NULL,
    slot bigint NOT NULL,
    paid_at bigint NOT NULL,
    usable_until bigint NOT NULL,
    registered_at bigint NOT NULL,
    late boolean NOT NULL,
    used bigint NOT NULL CHECK (used <= amount),
    deliveries bigint NOT NULL,
    free_uses bigint NOT NULL,
    fence bigint NOT NULL,
    leases text NOT NULL,
    version bigint NOT NULL
  )`,
  `
  ALTER TABLE paystile_payments ADD COLUMN finality text NOT NULL DEFAULT 'confirmed';
  CREATE INDEX paystile_payments_unfinal ON paystile_payments (slot) WHERE finality = 'confirmed';
  CREATE TABLE paystile_sightings (
    tx bytea PRIMARY KEY CHECK (length(tx) = 64),
    recipient text NOT NULL,
    request text NOT NULL,
    payer text NOT NULL,
    token text NOT NULL,
    received numeric(20) NOT NULL,
    slot bigint NOT NULL,
    paid_at bigint NOT NULL
  );
  CREATE INDEX paystile_sightings_slot ON paystile_sightings (slot);
  CREATE TABLE paystile_marks (address text PRIMARY KEY, signature text NOT NULL, slot bigint NOT NULL)`,
  `ALTER TABLE paystile_payments ADD COLUMN positions text NOT NULL DEFAULT ''`,
  // The totals of payments. Payments of earlier versions count without a value. Each server adds to its own lane of the
  // lines. Only the sum of all lanes is meaningful, and one lane may be negative. The payment list is ordered by time
  // and transaction, but its indexes only by time: the few payments of one second are sorted at the query, and every
  // payment writes less. For the same reason, observed payments that are not claimed yet have their own small table:
  // `late` is set after the registration of a late payment, `told` after the event that it expired. Every payment
  // changes soon after its insertion. The free space in its page avoids changes of the indexes.
  `
  ALTER TABLE paystile_payments ADD COLUMN endpoint text NOT NULL DEFAULT '', ADD COLUMN worth numeric,
    ADD COLUMN rates text;
  ALTER TABLE paystile_payments SET (fillfactor = 50);
  CREATE INDEX paystile_payments_time ON paystile_payments (paid_at);
  CREATE INDEX paystile_payments_endpoint ON paystile_payments (endpoint, paid_at);
  CREATE INDEX paystile_payments_token ON paystile_payments (token, paid_at);
  CREATE INDEX paystile_payments_void ON paystile_payments (paid_at) WHERE late OR finality = 'reverted';
  CREATE INDEX paystile_payments_usable ON paystile_payments (usable_until);
  DROP INDEX paystile_sightings_slot;
  CREATE TABLE paystile_unclaimed (
    tx bytea PRIMARY KEY,
    recipient text NOT NULL,
    request text NOT NULL,
    payer text NOT NULL,
    token text NOT NULL,
    received numeric(20) NOT NULL,
    slot bigint NOT NULL,
    paid_at bigint NOT NULL,
    endpoint text NOT NULL,
    claimable_until bigint NOT NULL,
    late boolean NOT NULL,
    told boolean NOT NULL
  );
  CREATE INDEX paystile_unclaimed_slot ON paystile_unclaimed (slot, paid_at);
  CREATE INDEX paystile_unclaimed_time ON paystile_unclaimed (paid_at) WHERE NOT late AND request <> '';
  CREATE INDEX paystile_unclaimed_end ON paystile_unclaimed (claimable_until)
    WHERE NOT late AND NOT told AND claimable_until > 0;
  INSERT INTO paystile_unclaimed
  SELECT seen.*, '', 0, paid.tx IS NOT NULL, false FROM paystile_sightings AS seen
    LEFT JOIN paystile_payments AS paid ON paid.tx = seen.tx WHERE paid.tx IS NULL OR paid.late;
  CREATE TABLE paystile_rollups (
    grain text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    payments bigint NOT NULL,
    received numeric NOT NULL,
    worth numeric NOT NULL,
    unvalued bigint NOT NULL,
    PRIMARY KEY (grain, at, endpoint, token, lane)
  ) WITH (fillfactor = 50);
  CREATE INDEX paystile_rollups_endpoint ON paystile_rollups (grain, endpoint, at);
  INSERT INTO paystile_rollups
  SELECT grain, at, '', token, 0, count(*), sum(received), 0, count(*) FROM paystile_payments CROSS JOIN LATERAL (VALUES
    ('all', 0), ('endpoint', 0), ('hour', floor(paid_at / 3600000.0) * 3600000),
    ('hour_endpoint', floor(paid_at / 3600000.0) * 3600000), ('day_endpoint', floor(paid_at / 86400000.0) * 86400000)
  ) AS line (grain, at) WHERE NOT late AND finality <> 'reverted' GROUP BY grain, at, token;
  CREATE TABLE paystile_usage (
    at bigint NOT NULL,
    endpoint text NOT NULL,
    event text NOT NULL,
    lane smallint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (at, endpoint, event, lane)
  );
  CREATE TABLE paystile_shelf (name text COLLATE "C" PRIMARY KEY, value text NOT NULL, until bigint NOT NULL);
  CREATE INDEX paystile_shelf_until ON paystile_shelf (until);
  CREATE TABLE paystile_notices (
    id text PRIMARY KEY,
    kind text NOT NULL,
    target text NOT NULL DEFAULT '',
    tx bytea NOT NULL,
    at bigint NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'waiting',
    due bigint NOT NULL,
    why text NOT NULL DEFAULT ''
  );
  CREATE INDEX paystile_notices_due ON paystile_notices (target, due) WHERE state = 'waiting';
  CREATE INDEX paystile_notices_at ON paystile_notices (at);
  CREATE INDEX paystile_notices_state ON paystile_notices (state, at)`,
  // For the payer list, the problem list and the payment timeline. Payers are counted by day, and found by their amount
  // of the day. Problems are in partial indexes, which the normal use of a payment does not change. Older payments have
  // no times.
  `
  ALTER TABLE paystile_payments ADD COLUMN delivered_at bigint, ADD COLUMN delivered_last bigint,
    ADD COLUMN undelivered_at bigint, ADD COLUMN concluded_at bigint;
  UPDATE paystile_payments SET undelivered_at = registered_at WHERE NOT late AND finality <> 'reverted' AND unit <> 'second'
    AND used = 0 AND deliveries = 0 AND positions = '';
  CREATE INDEX paystile_payments_payer ON paystile_payments (payer, paid_at);
  CREATE INDEX paystile_payments_request ON paystile_payments (request);
  CREATE INDEX paystile_payments_reverted ON paystile_payments (paid_at) WHERE finality = 'reverted';
  CREATE INDEX paystile_payments_undelivered ON paystile_payments (paid_at) WHERE undelivered_at IS NOT NULL;
  CREATE INDEX paystile_payments_surplus ON paystile_payments (paid_at) WHERE received > required;
  ALTER TABLE paystile_sightings ADD COLUMN seen_at bigint;
  ALTER TABLE paystile_unclaimed ADD COLUMN required numeric(20), ADD COLUMN payable_until bigint NOT NULL DEFAULT 0;
  CREATE INDEX paystile_unclaimed_request ON paystile_unclaimed (request, slot) WHERE request <> '';
  CREATE INDEX paystile_unclaimed_unmatched ON paystile_unclaimed (paid_at) WHERE NOT late AND request = '';
  CREATE TABLE paystile_payers (
    payer text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    token text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    payments bigint NOT NULL,
    received numeric NOT NULL,
    worth numeric NOT NULL,
    unvalued bigint NOT NULL,
    PRIMARY KEY (payer, at, token, lane)
  );
  INSERT INTO paystile_payers
  SELECT payer, floor(paid_at / 86400000.0) * 86400000, token, 0, count(*), sum(received), coalesce(sum(worth), 0),
    count(*) - count(worth)
  FROM paystile_payments WHERE NOT late AND finality <> 'reverted' GROUP BY 1, 2, 3;
  CREATE INDEX paystile_payers_worth ON paystile_payers (at, worth)`,
  duesStep,
  voidsStep,
  signingsStep,
  netStep,
  // Transactions that the service sends for others. Of one requestId and of one payer, one at a time may be without an
  // outcome. The limits count failures by payer and client address, and add up fees. Fees are stored as sums of ten
  // minutes too, because a day can have many submissions.
  `
  CREATE TABLE paystile_submissions (
    tx bytea PRIMARY KEY CHECK (length(tx) = 64),
    message bytea NOT NULL UNIQUE CHECK (length(message) = 32),
    request text NOT NULL,
    payer text NOT NULL,
    client text NOT NULL,
    sealed text NOT NULL,
    slot bigint NOT NULL,
    lamports bigint NOT NULL CHECK (lamports >= 0),
    held_until bigint NOT NULL,
    at bigint NOT NULL,
    outcome text CHECK (outcome IN ('landed', 'failed', 'expired'))
  );
  CREATE TABLE paystile_submission_sums (at bigint PRIMARY KEY, spent bigint NOT NULL, lost bigint NOT NULL)
    WITH (fillfactor = 50);
  CREATE UNIQUE INDEX paystile_submissions_request ON paystile_submissions (request) WHERE outcome IS NULL;
  CREATE UNIQUE INDEX paystile_submissions_payer ON paystile_submissions (payer) WHERE outcome IS NULL;
  CREATE INDEX paystile_submissions_open ON paystile_submissions (at, tx) WHERE outcome IS NULL;
  CREATE INDEX paystile_submissions_closed ON paystile_submissions (outcome, at, lamports) WHERE outcome IS NOT NULL;
  CREATE INDEX paystile_submissions_failed_payer ON paystile_submissions (payer, at) WHERE outcome = 'failed';
  CREATE INDEX paystile_submissions_failed_client ON paystile_submissions (client, at) WHERE outcome = 'failed'`,
  // The rates of other tokens than the known ones, as JSON.
  'ALTER TABLE paystile_rates ADD COLUMN others text',
  // The amounts that other wallets received in the transactions of payments.
  'ALTER TABLE paystile_payments ADD COLUMN splits text',
  // How often a slice of a bundle went back to the payer.
  'ALTER TABLE paystile_payments ADD COLUMN returned_slices bigint NOT NULL DEFAULT 0',
]

/** The migration of a ledger with many payments takes long, once. */
const migrationMs = 3_600_000

/** An arbitrary number that must not change. */
const lock = 7_402_402_402
const meta = 'CREATE TABLE IF NOT EXISTS paystile_meta (key text PRIMARY KEY, value text NOT NULL)'

/** Settings that could lose an acknowledged grant if they are off. */
const durability = ['fsync', 'full_page_writes', 'synchronous_commit'] as const
const readOnly = 'default_transaction_read_only'
/** If another server may take over, every commit must wait for it. */
const standbys = 'synchronous_standby_names'

export async function prepareSchema(database: Database, identity: LedgerIdentity): Promise<void> {
  await checkDurability(database)
  await database.transact(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [lock])
    const [found] = await query("SELECT to_regclass('paystile_meta') IS NOT NULL AS known")
    if (!found?.['known']) await query(meta)
    const { version, remembered } = await readMeta(database.name, query)
    checkIdentity(database.name, remembered, identity)
    for (const step of steps.slice(version)) await query(step, [], { timeoutMs: migrationMs })
    const facts = { ...identity, schema: String(steps.length) }
    for (const [key, value] of Object.entries(facts)) {
      const clash = key === 'schema' ? 'UPDATE SET value = excluded.value' : 'NOTHING'
      if (value !== undefined && (key === 'schema' ? version < steps.length : !(key in remembered)))
        await query(`INSERT INTO paystile_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO ${clash}`, [
          key,
          value,
        ])
    }
  })
}

/** The values that the ledger stores about itself. Refuses a ledger of a newer version. */
export async function readMeta(
  name: string,
  query: Database['query'],
): Promise<{ readonly version: number; readonly remembered: Remembered }> {
  const rows = await query('SELECT key, value FROM paystile_meta')
  const { schema, ...remembered } = Object.fromEntries(rows.map(({ key, value }) => [key, value])) as Remembered & {
    readonly schema?: string
  }
  const version = Number(schema ?? 0)
  checkVersion(name, version, steps.length)
  return { version, remembered }
}

export async function checkDurability(database: Database): Promise<void> {
  const rows = await database.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [
    [...durability, standbys, readOnly],
  ])
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]))
  for (const name of durability) {
    if (settings.get(name) !== 'off') continue
    throw new LedgerConfigurationError(
      `The ledger ${database.name} runs with ${name}=off and could lose payments`,
      `set ${name}=on`,
    )
  }
  if (settings.get(readOnly) === 'on') {
    throw new LedgerConfigurationError(
      `The ledger ${database.name} cannot be written to (${readOnly}=on)`,
      'set it off for this user and database',
    )
  }
  if (!database.hasStandby) return
  if (settings.get('synchronous_commit') === 'local' || settings.get(standbys) === '') {
    throw new LedgerConfigurationError(
      `The ledger ${database.name} could lose payments when a standby takes over`,
      `set synchronous_commit=on and ${standbys} (with Patroni synchronous_mode and synchronous_mode_strict), or use only one host`,
    )
  }
}
