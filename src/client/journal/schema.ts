/** The tables of the journal file, and their migrations from earlier versions. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** The additions of each version. A journal with a higher number was written by a later version. */
const versions: readonly string[] = [
  `create table intents (
    request_id text primary key,
    key text not null,
    url text not null,
    host text not null,
    day text not null,
    network text not null,
    genesis text not null,
    token text not null,
    units text not null,
    payer text not null,
    proof text not null,
    claim text,
    state text not null,
    tx text,
    wire text,
    last_valid_block_height integer,
    holder text
  ) strict;
  create index intents_by_key on intents (key) where state in ('signed', 'landed');
  create index intents_by_day on intents (day, network, token) where state <> 'dead';`,
  // Purchases for several requests, and their current buyers.
  `alter table intents add column unit text;
  alter table intents add column scope text;
  alter table intents add column remaining integer;
  alter table intents add column until integer;
  alter table intents add column under_way integer not null default 0;
  create index intents_by_scope on intents (scope) where scope is not null and state in ('signed', 'landed');
  create table turns (scope text primary key, holder text not null) strict;`,
  // The slot of signing decides whether a payment can still land.
  `alter table intents add column slot integer;
  alter table intents drop column last_valid_block_height;`,
  // Payments over other protocols.
  `alter table intents add column protocol text;
  alter table intents add column credential text;
  alter table intents add column memo text;`,
]

/** Migrates the tables in one step. Throws if a later version wrote the journal. */
export function migrate(database: DatabaseSyncInstance): void {
  if (readVersion(database) === versions.length) return
  database.exec('begin immediate')
  try {
    // Another process may have migrated it first.
    const version = readVersion(database)
    if (version > versions.length) throw new Error('it was written by another version of paystile')
    for (const step of versions.slice(version)) database.exec(step)
    database.exec(`pragma user_version = ${versions.length}`)
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

function readVersion(database: DatabaseSyncInstance): number {
  return (database.prepare('pragma user_version').get() as { user_version: number }).user_version
}
