/**
 * The PostgreSQL schema and the way to it. Steps only go forward and are never edited once released. They run in one
 * transaction under one lock, so that any number of servers may start at once.
 */
import type { LedgerIdentity, Remembered } from './identity.ts'
import { checkIdentity, LedgerConfigurationError } from './identity.ts'
import type { Database } from './postgres-database.ts'

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
]

/** Any number will do, as long as it stays the same. */
const lock = 7_402_402_402
const meta = 'CREATE TABLE IF NOT EXISTS paystile_meta (key text PRIMARY KEY, value text NOT NULL)'

/** Settings under which an acknowledged grant could be lost, and what they must not be. */
const durability = ['fsync', 'full_page_writes', 'synchronous_commit'] as const
const readOnly = 'default_transaction_read_only'
/** Where another server may take over, every commit has to wait for it. */
const standbys = 'synchronous_standby_names'

export async function prepareSchema(database: Database, identity: LedgerIdentity): Promise<void> {
  await checkDurability(database)
  await database.transact(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [lock])
    const [found] = await query("SELECT to_regclass('paystile_meta') IS NOT NULL AS known")
    if (!found?.['known']) await query(meta)
    const rows = await query('SELECT key, value FROM paystile_meta')
    const { schema, ...remembered } = Object.fromEntries(rows.map(({ key, value }) => [key, value])) as Remembered & {
      readonly schema?: string
    }
    const version = Number(schema ?? 0)
    if (version > steps.length) {
      throw new LedgerConfigurationError(
        `The ledger ${database.name} was written by a newer paystile (schema ${version}, this one knows ${steps.length}): ` +
          'run that version or a later one.',
      )
    }
    checkIdentity(database.name, remembered, identity)
    for (const step of steps.slice(version)) await query(step)
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

export async function checkDurability(database: Database): Promise<void> {
  const rows = await database.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [
    [...durability, standbys, readOnly],
  ])
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]))
  for (const name of durability) {
    if (settings.get(name) !== 'off') continue
    throw new LedgerConfigurationError(
      `The ledger ${database.name} runs with ${name}=off and could forget payments: set ${name}=on.`,
    )
  }
  if (settings.get(readOnly) === 'on') {
    throw new LedgerConfigurationError(
      `The ledger ${database.name} cannot be written to (${readOnly}=on): set it off for this user and database.`,
    )
  }
  if (!database.hasStandby) return
  if (settings.get('synchronous_commit') === 'local' || settings.get(standbys) === '') {
    throw new LedgerConfigurationError(
      `The ledger ${database.name} could forget payments when a standby takes over: set synchronous_commit=on and ` +
        `${standbys} (with Patroni synchronous_mode and synchronous_mode_strict), or name one host only.`,
    )
  }
}
