/** A SQLite database: a file with durable commits, or a database in the memory of this process. */
import { type BigIntStats, closeSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { attempt } from '../../core/errors/attempt.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { LedgerConfigurationError } from '../identity.ts'
import { checkDurability, checkOrigin, migrate } from './migrations.ts'
import { prepareRollups } from './totals.ts'
import { createWriter, type Enter, isOutage, patiently, readErrorCode, rollBack } from './writer.ts'

export interface SqliteFile {
  readonly path: string
  /** No other connection can read it. */
  readonly isInMemory: boolean
  readonly db: DatabaseSyncInstance
  /**
   * Runs `work` in a transaction with the write lock, so no row that it reads can change. Resolves when its changes are
   * on disk. If it throws, its changes are rolled back.
   */
  write<T>(work: (enter: Enter) => T): Promise<T>
  /** Runs `work` in a transaction without other jobs, for callers that rewrite rows to which others only add. */
  writeAlone<T>(work: () => T): Promise<T>
  /** Runs one read, which does not wait for writers. */
  read<T>(work: () => T): Promise<T>
  close(): Promise<void>
}

/** Reads within this time share one check that the file is in its place. Each commit makes its own. */
const checkedMs = 20

const unwritable: readonly (number | undefined)[] = [3, 8, 14]
const notDatabase: readonly (number | undefined)[] = [11, 26]

/** Opens the file, creates it if it is new, and calls `agree` before the first change is committed. */
export async function openSqliteFile(
  path: string,
  busyTimeoutMs: number,
  agree: (db: DatabaseSyncInstance) => void,
): Promise<SqliteFile> {
  checkPlace(path)
  makePrivately(path)
  let opened: DatabaseSyncInstance | undefined
  try {
    const db = new DatabaseSync(path)
    opened = db
    const wait = <T>(work: () => T) => patiently(work, busyTimeoutMs)
    // Checked before any change, even to the journal mode.
    await wait(() => transact(db, 'BEGIN', () => checkOrigin(db, path)))
    await wait(() => makeDurable(db, path))
    await wait(() =>
      transact(db, 'BEGIN IMMEDIATE', () => {
        migrate(db, path)
        agree(db)
      }),
    )
    return useFile(db, path, busyTimeoutMs)
  } catch (error) {
    opened?.close()
    throw explainOpening(path, error)
  }
}

/** A new database that only this process sees and that ends with it. */
export function openSqliteMemory(agree: (db: DatabaseSyncInstance) => void): SqliteFile {
  const db = new DatabaseSync(':memory:')
  transact(db, 'BEGIN IMMEDIATE', () => {
    migrate(db, 'memory:')
    agree(db)
  })
  return useDatabase({ db, path: 'memory:', isInMemory: true, busyTimeoutMs: 0, checkInPlace: () => {} })
}

/**
 * Only the owner may read pseudonyms and sealed transactions. SQLite gives its additional files the same permissions.
 */
function makePrivately(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // The file exists, or SQLite reports why it cannot be created.
  }
}

function useFile(db: DatabaseSyncInstance, path: string, busyTimeoutMs: number): SqliteFile {
  // The log and its index stay as they are while a connection is open. They are beside the file, not beside a link to it.
  const real = realpathSync(path)
  const readPlaces = () => [path, `${real}-wal`, `${real}-shm`].map(placeOf).join()
  const places = readPlaces()
  /** A file that was moved or replaced may be missing after a restart, so no commit to it is acknowledged. */
  const checkInPlace = () => {
    if (readPlaces() !== places)
      throw new LedgerUnavailable(`The ledger ${path} no longer exists, or its log does not.`)
  }
  return useDatabase({ db, path, isInMemory: false, busyTimeoutMs, checkInPlace })
}

interface DatabaseParts extends Pick<SqliteFile, 'db' | 'path' | 'isInMemory'> {
  readonly busyTimeoutMs: number
  /** Throws if the path no longer names the opened database. */
  readonly checkInPlace: () => void
}

function useDatabase({ db, path, isInMemory, busyTimeoutMs, checkInPlace }: DatabaseParts): SqliteFile {
  let closed = false
  const checkOpen = () => {
    if (closed) throw new LedgerUnavailable(`The ledger ${path} is closed.`)
  }
  let checkedAt = Number.NEGATIVE_INFINITY
  const check = () => {
    checkedAt = Number.NEGATIVE_INFINITY
    checkInPlace()
    checkedAt = performance.now()
  }
  const writer = createWriter({ db, busyTimeoutMs, enter: prepareRollups(db), check })
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error) => {
      throw explain(path, error)
    })
  return {
    path,
    isInMemory,
    db,
    async write(work) {
      checkOpen()
      return explained(writer.write(work))
    },
    async writeAlone(work) {
      checkOpen()
      return explained(writer.writeAlone(work))
    },
    async read(work) {
      checkOpen()
      const look = () => {
        const result = work()
        if (performance.now() - checkedAt >= checkedMs) check()
        return result
      }
      return explained(patiently(look, busyTimeoutMs))
    },
    async close() {
      if (closed) return
      closed = true
      await writer.drain()
      db.close()
    },
  }
}

function makeDurable(db: DatabaseSyncInstance, path: string): void {
  // In WAL mode, SQLite's default is NORMAL, which may lose the last commits at a power failure: a double spend. On
  // macOS, only fullfsync flushes the cache of the disk.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  // The cache in KB: the default of 2 MB hardly holds the inner pages of the indexes. The checkpoint in pages (16 MB):
  // pages that change often, such as the ends of indexes, are copied from the log only once per checkpoint.
  db.exec('PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000')
  checkDurability(db, path)
}

function transact(db: DatabaseSyncInstance, begin: 'BEGIN' | 'BEGIN IMMEDIATE', work: () => void): void {
  db.exec(begin)
  try {
    work()
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    throw error
  }
}

function placeOf(path: string): string | undefined {
  const stats = look(path)
  return stats && `${stats.dev}/${stats.ino}`
}

/** Undefined if the file is missing or cannot be read. */
function look(path: string): BigIntStats | undefined {
  return attempt(() => statSync(path, { bigint: true, throwIfNoEntry: false }))
}

function checkPlace(path: string): void {
  const directory = dirname(path)
  if (!look(directory)?.isDirectory()) {
    throw new LedgerConfigurationError(
      `The ledger ${path} cannot be created, because ${directory} is not a directory`,
      'create it first, or choose another file',
    )
  }
  if (look(path)?.isDirectory())
    throw new LedgerConfigurationError(`The ledger ${path} is a directory`, 'choose a file inside it')
}

function explainOpening(path: string, error: unknown): unknown {
  const code = readErrorCode(error)
  if (notDatabase.includes(code)) {
    return new LedgerConfigurationError(
      `The file ${path} is not a SQLite database, or is damaged`,
      'restore it from a backup, or choose another file',
      { cause: error },
    )
  }
  if (unwritable.includes(code)) {
    return new LedgerConfigurationError(
      `The ledger ${path} cannot be opened for writing`,
      'give this process write access to the file and its directory',
      { cause: error },
    )
  }
  return explain(path, error)
}

function explain(path: string, error: unknown): unknown {
  if (!isOutage(error)) return error
  const what = error instanceof Error ? error.message : 'unknown'
  return new LedgerUnavailable(`The ledger ${path} cannot be used at the moment: ${what}.`, { cause: error })
}
