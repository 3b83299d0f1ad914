/**
 * The PostgreSQL schema and its migrations. Released steps are never edited. All steps run in one transaction under one
 * lock, so several servers can start at the same time.
 */
import type { LedgerIdentity, Remembered } from '../identity.ts'
import { checkIdentity, checkVersion, LedgerConfigurationError } from '../identity.ts'
import type { Database } from './database.ts'
import { payablesSchema } from './payables-schema.ts'

/**
 * As in `sqlite/migrations.ts`, with these differences. Each server adds to its own lane of the rollups, of the payers and
 * of the usage. Only the sum of all lanes is meaningful, and one lane may be negative. Every payment changes soon after its
 * insertion. The free space in its page avoids changes of the indexes.
 */
const paymentsSchema = `
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
    version bigint NOT NULL,
    finality text NOT NULL DEFAULT 'confirmed',
    positions text NOT NULL DEFAULT '',
    endpoint text NOT NULL DEFAULT '',
    worth numeric,
    rates text,
    delivered_at bigint,
    delivered_last bigint,
    undelivered_at bigint,
    concluded_at bigint,
    refunded_at bigint,
    splits text,
    returned_slices bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  CREATE INDEX paystile_payments_unfinal ON paystile_payments (slot) WHERE finality = 'confirmed';
  CREATE INDEX paystile_payments_time ON paystile_payments (paid_at);
  CREATE INDEX paystile_payments_endpoint ON paystile_payments (endpoint, paid_at);
  CREATE INDEX paystile_payments_token ON paystile_payments (token, paid_at);
  CREATE INDEX paystile_payments_void ON paystile_payments (paid_at) WHERE late OR finality = 'reverted';
  CREATE INDEX paystile_payments_usable ON paystile_payments (usable_until);
  CREATE INDEX paystile_payments_payer ON paystile_payments (payer, paid_at);
  CREATE INDEX paystile_payments_request ON paystile_payments (request);
  CREATE INDEX paystile_payments_reverted ON paystile_payments (paid_at) WHERE finality = 'reverted';
  CREATE INDEX paystile_payments_undelivered ON paystile_payments (paid_at) WHERE undelivered_at IS NOT NULL;
  CREATE INDEX paystile_payments_surplus ON paystile_payments (paid_at) WHERE received > required;
  CREATE TABLE paystile_sightings (
    tx bytea PRIMARY KEY CHECK (length(tx) = 64),
    recipient text NOT NULL,
    request text NOT NULL,
    payer text NOT NULL,
    token text NOT NULL,
    received numeric(20) NOT NULL,
    slot bigint NOT NULL,
    paid_at bigint NOT NULL,
    seen_at bigint
  );
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
    told boolean NOT NULL,
    required numeric(20),
    payable_until bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX paystile_unclaimed_slot ON paystile_unclaimed (slot, paid_at);
  CREATE INDEX paystile_unclaimed_time ON paystile_unclaimed (paid_at) WHERE NOT late AND request <> '';
  CREATE INDEX paystile_unclaimed_end ON paystile_unclaimed (claimable_until)
    WHERE NOT late AND NOT told AND claimable_until > 0;
  CREATE INDEX paystile_unclaimed_request ON paystile_unclaimed (request, slot) WHERE request <> '';
  CREATE INDEX paystile_unclaimed_unmatched ON paystile_unclaimed (paid_at) WHERE NOT late AND request = '';
  CREATE TABLE paystile_marks (address text PRIMARY KEY, signature text NOT NULL, slot bigint NOT NULL);
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
    refunded numeric NOT NULL DEFAULT 0,
    refunded_worth numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (grain, at, endpoint, token, lane)
  ) WITH (fillfactor = 50);
  CREATE INDEX paystile_rollups_endpoint ON paystile_rollups (grain, endpoint, at);
  CREATE TABLE paystile_usage (
    at bigint NOT NULL,
    endpoint text NOT NULL,
    event text NOT NULL,
    lane smallint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (at, endpoint, event, lane)
  );
  CREATE TABLE paystile_payers (
    payer text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    token text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    payments bigint NOT NULL,
    received numeric NOT NULL,
    worth numeric NOT NULL,
    unvalued bigint NOT NULL,
    refunded numeric NOT NULL DEFAULT 0,
    refunded_worth numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (payer, at, token, lane)
  );
  CREATE INDEX paystile_payers_worth ON paystile_payers (at, worth);
  CREATE TABLE paystile_rates (
    feed text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    source text NOT NULL,
    usdc text,
    native text,
    sol text,
    others text,
    PRIMARY KEY (feed, at)
  );
  CREATE INDEX paystile_rates_at ON paystile_rates (at);
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
  CREATE INDEX paystile_notices_state ON paystile_notices (state, at);
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
  CREATE UNIQUE INDEX paystile_submissions_request ON paystile_submissions (request) WHERE outcome IS NULL;
  CREATE UNIQUE INDEX paystile_submissions_payer ON paystile_submissions (payer) WHERE outcome IS NULL;
  CREATE INDEX paystile_submissions_open ON paystile_submissions (at, tx) WHERE outcome IS NULL;
  CREATE INDEX paystile_submissions_closed ON paystile_submissions (outcome, at, lamports) WHERE outcome IS NOT NULL;
  CREATE INDEX paystile_submissions_failed_payer ON paystile_submissions (payer, at) WHERE outcome = 'failed';
  CREATE INDEX paystile_submissions_failed_client ON paystile_submissions (client, at) WHERE outcome = 'failed';
  CREATE TABLE paystile_submission_sums (at bigint PRIMARY KEY, spent bigint NOT NULL, lost bigint NOT NULL)
    WITH (fillfactor = 50)`

export const steps: readonly string[] = [`${paymentsSchema};${payablesSchema}`]

/** The migration of a ledger with many payments takes long, once. */
const migrationMs = 3_600_000

/** An arbitrary number that must not change. */
const lock = 7_402_402_402
const meta = 'CREATE TABLE IF NOT EXISTS paystile_meta (key text PRIMARY KEY, value text NOT NULL)'

/** Settings that could lose an acknowledged grant if they are off. */
const durability = ['fsync', 'full_page_writes', 'synchronous_commit'] as const
const readOnly = 'default_transaction_read_only'
const isolation = 'default_transaction_isolation'
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
    [...durability, standbys, readOnly, isolation],
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
  // Its transactions read the state before they waited for a lock, so a refund would not see a registration, and vice
  // versa.
  if (settings.get(isolation) === 'repeatable read') {
    throw new LedgerConfigurationError(
      `The ledger ${database.name} runs with ${isolation}='repeatable read' and could both refund and serve a payment`,
      "set it to 'read committed' for this user and database",
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
