/**
 * The chain's database: one SQLite file, or memory if nothing is stored.
 *
 * Every slot with changes is one database transaction, committed when the slot closes. After a crash, the chain is in
 * the state of its last closed slot.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { LocalnetDataError } from './data-error.ts'

/** "PSLN" */
const applicationId = 0x50534c4e
const schemaVersion = 1

const schema = `
  create table meta (key text primary key, value blob not null) strict, without rowid;
  create table anchors (position integer primary key, slot integer not null, ms real not null) strict;
  create table gaps (first integer primary key, last integer not null) strict;
  create table accounts (address text primary key, account blob not null) strict, without rowid;
  create table blocks (slot integer primary key, reward blob) strict;
  create table transactions (
    slot integer not null, position integer not null, signature text not null unique, record blob not null,
    primary key (slot, position)
  ) strict, without rowid;
  create table mentions (
    address text not null, slot integer not null, position integer not null,
    primary key (address, slot, position)
  ) strict, without rowid;
`

export interface Store {
  readonly db: DatabaseSyncInstance
  /** Whether accounts outlive the process. */
  readonly durable: boolean
  readonly isNew: boolean
  getMeta(key: string): Uint8Array | undefined
  setMeta(key: string, value: Uint8Array): void
  /** All writes until `commit` are committed together. */
  begin(): void
  commit(): void
  close(): void
}

export function openStore(directory: string | undefined): Store {
  if (directory === undefined) return useDatabase(openFile(':memory:'), false, () => {})
  mkdirSync(directory, { recursive: true })
  const unlock = lock(directory)
  try {
    return useDatabase(openFile(join(directory, 'chain.sqlite')), true, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/**
 * Allows one process per chain, because a second one would run another chain on the same history.
 *
 * The lock is a separate database, because a connection with prepared statements releases its locks only when they are
 * garbage-collected. The operating system releases the lock of a killed process.
 */
function lock(directory: string): () => void {
  const file = join(directory, 'chain.lock')
  const db = new DatabaseSync(file)
  try {
    db.exec('begin exclusive')
  } catch (cause) {
    db.close()
    throw new LocalnetDataError(`cannot open the localnet's chain in ${directory}: another process has it open`, {
      cause,
    })
  }
  return () => db.close()
}

function useDatabase(db: DatabaseSyncInstance, durable: boolean, unlock: () => void): Store {
  const isNew = db.prepare("select count(*) as count from sqlite_master where name = 'meta'").get()?.['count'] === 0
  if (isNew) {
    db.exec(
      `begin; ${schema} pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}; commit;`,
    )
  }
  const get = db.prepare('select value from meta where key = ?')
  const set = db.prepare('insert or replace into meta (key, value) values (?, ?)')
  let open = false
  const store: Store = {
    db,
    durable,
    isNew,
    getMeta: (key) => get.get(key)?.['value'] as Uint8Array | undefined,
    setMeta: (key, value) => {
      set.run(key, value)
    },
    begin() {
      if (!open) db.exec('begin')
      open = true
    },
    commit() {
      if (open) db.exec('commit')
      open = false
    },
    close() {
      store.commit()
      db.close()
      unlock()
    },
  }
  return store
}

function openFile(file: string): DatabaseSyncInstance {
  let db: DatabaseSyncInstance | undefined
  try {
    db = new DatabaseSync(file)
    db.exec('pragma journal_mode = wal; pragma synchronous = normal;')
    check(db, file)
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof LocalnetDataError) throw cause
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new LocalnetDataError(`cannot open the localnet's chain ${file}: ${message}`, { cause })
  }
}

function check(db: DatabaseSyncInstance, file: string): void {
  const tables = Number(db.prepare('select count(*) as count from sqlite_master').get()?.['count'])
  if (tables === 0) return
  const application = db.prepare('pragma application_id').get()?.['application_id']
  const version = db.prepare('pragma user_version').get()?.['user_version']
  if (application !== applicationId) throw new LocalnetDataError(`${file} is not a paystile localnet chain`)
  if (version !== schemaVersion) {
    throw new LocalnetDataError(
      `${file} was written by another version (format ${version}, this one reads ${schemaVersion})`,
    )
  }
}
