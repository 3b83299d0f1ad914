/** The journal in a file that all processes of a user share (SQLite): budgets hold across them, and crashes lose nothing. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { isNameAlive, processName } from '../host/alive.ts'
import type { Intent, Journal } from './journal.ts'
import { findExceeded } from './journal.ts'

/** Number 1 of its kind: a journal of another number was written by another version. */
const version = 1
const schema = `
  create table intents (
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
  create index intents_by_day on intents (day, network, token) where state <> 'dead';
  pragma user_version = ${version};
`

const ownName = processName(process.pid)

interface Row {
  readonly request_id: string
  readonly units: string
  readonly last_valid_block_height: number | null
  readonly holder: string | null
  readonly [column: string]: unknown
}

/** Opens or makes the journal. Throws one sentence that names the file when it cannot be used. */
export function openFileJournal(path: string): Journal {
  const database = open(path)
  const held = new Set<string>()
  const atomically = <Result>(work: () => Result): Result => {
    database.exec('begin immediate')
    try {
      const result = work()
      database.exec('commit')
      return result
    } catch (error) {
      database.exec('rollback')
      throw error
    }
  }
  const known = database.prepare('select 1 from intents where request_id = ?')
  const spentBy = database.prepare(
    "select units, host from intents where day = ? and network = ? and token = ? and state <> 'dead'",
  )
  const insert = database.prepare(
    `insert into intents (request_id, key, url, host, day, network, genesis, token, units, payer, proof, claim, state, holder)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const update = database.prepare(
    `update intents set state = coalesce(?, state), tx = coalesce(?, tx), wire = coalesce(?, wire),
     last_valid_block_height = coalesce(?, last_valid_block_height) where request_id = ?`,
  )
  const unfinished = database.prepare("select * from intents where key = ? and state in ('signed', 'landed')")
  const hold = database.prepare('update intents set holder = ? where request_id = ?')

  return {
    reserve: async (intent, limits) =>
      atomically(() => {
        if (known.get(intent.requestId)) return { kind: 'repeated' } as const
        const rows = spentBy.all(intent.day, intent.network, intent.token) as { units: string; host: string }[]
        const counted = rows.map((row) => ({ host: row.host, units: BigInt(row.units) }))
        const exceeded = findExceeded(counted, intent, limits)
        if (exceeded) return exceeded
        const { requestId, key, url, host, day, network, genesis, token, units, payer, proof, claim, state } = intent
        insert.run(
          requestId,
          key,
          url,
          host,
          day,
          network,
          genesis,
          token,
          String(units),
          payer,
          proof,
          claim ?? null,
          state,
          ownName,
        )
        held.add(requestId)
        return { kind: 'reserved' } as const
      }),
    change: async (requestId, { state, tx, wire, lastValidBlockHeight }) => {
      update.run(state ?? null, tx ?? null, wire ?? null, lastValidBlockHeight ?? null, requestId)
    },
    adopt: async (key) =>
      atomically(() => {
        const rows = unfinished.all(key) as unknown as Row[]
        const free = rows.find((row) => !held.has(row.request_id) && !isHeldElsewhere(row.holder))
        if (!free) return undefined
        hold.run(ownName, free.request_id)
        held.add(free.request_id)
        return toIntent(free)
      }),
    release: async (requestId) => {
      held.delete(requestId)
      hold.run(null, requestId)
    },
  }
}

/** Somebody has to do something about the file. The message says what. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
}

function open(path: string): DatabaseSyncInstance {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // It holds the secrets of payments that were not claimed yet.
    closeSync(openSync(path, 'a', 0o600))
    const database = new DatabaseSync(path, { timeout: 5000 })
    database.exec('pragma journal_mode = wal; pragma synchronous = full;')
    if (versionOf(database) === 0) create(database)
    if (versionOf(database) !== version) throw new Error('it was written by another version of paystile')
    return database
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new JournalError(
      `The payment journal ${path} cannot be used (${why}); move the file away, with the payments in it that were not used yet, or set PAYSTILE_HOME.`,
    )
  }
}

function versionOf(database: DatabaseSyncInstance): number {
  return (database.prepare('pragma user_version').get() as { user_version: number }).user_version
}

function create(database: DatabaseSyncInstance): void {
  database.exec('begin immediate')
  // Another process may have been quicker.
  if (versionOf(database) === 0) database.exec(schema)
  database.exec('commit')
}

/** A payment in the hands of another process is left to it, as long as that process lives. */
function isHeldElsewhere(holder: string | null): boolean {
  return holder !== null && holder !== ownName && isNameAlive(holder)
}

function toIntent(row: Row): Intent {
  const { last_valid_block_height: height } = row
  const optional = (name: 'claim' | 'tx' | 'wire') => (typeof row[name] === 'string' ? { [name]: row[name] } : {})
  return {
    requestId: row.request_id,
    key: row['key'],
    url: row['url'],
    host: row['host'],
    day: row['day'],
    network: row['network'],
    genesis: row['genesis'],
    token: row['token'],
    units: BigInt(row.units),
    payer: row['payer'],
    proof: row['proof'],
    state: row['state'],
    ...optional('claim'),
    ...optional('tx'),
    ...optional('wire'),
    ...(height !== null && { lastValidBlockHeight: height }),
  } as Intent
}
