/** One SQLite database: a file, opened so that what was committed stays committed, or the memory of this process. */
import type { BigIntStats } from 'node:fs'
import { closeSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import { LedgerConfigurationError } from '../identity.ts'
import { checkDurability, checkOrigin, createSchema, migrate } from './migrations.ts'
import { prepareRollups } from './totals.ts'
import type { Enter } from './writer.ts'
import { createWriter, isOutage, patiently, readErrorCode, rollBack } from './writer.ts'

export interface SqliteFile {
  readonly path: string
  /** No other connection sees it. */
  readonly isInMemory: boolean
  readonly db: DatabaseSyncInstance
  /**
   * Runs `work` inside a transaction that holds the write lock, so nothing it reads can change under it. Resolves when
   * its changes are on the disk; when it throws, they are undone.
   */
  write<T>(work: (enter: Enter) => T): Promise<T>
  /** The same with nobody else's work in the transaction, for who rewrites what others only add to. */
  writeAlone<T>(work: () => T): Promise<T>
  /** Runs one read, which waits for no writer. */
  read<T>(work: () => T): Promise<T>
  close(): Promise<void>
}

const unwritable: readonly (number | undefined)[] = [3, 8, 14]
const notDatabase: readonly (number | undefined)[] = [11, 26]

/** Opens the file, makes it if it is new, and has `agree` look into it before the first change is committed. */
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
    // Before anything is changed, even the mode of the log.
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

/** A new database that no other process sees, and that ends with this one. */
export function openSqliteMemory(agree: (db: DatabaseSyncInstance) => void): SqliteFile {
  const db = new DatabaseSync(':memory:')
  transact(db, 'BEGIN IMMEDIATE', () => {
    createSchema(db)
    agree(db)
  })
  return useDatabase({ db, path: 'memory:', isInMemory: true, busyTimeoutMs: 0, checkInPlace: () => {} })
}

/** Names of payers and sealed transactions are for its owner alone. The files beside it get the same rights from SQLite. */
function makePrivately(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // It is there already, or SQLite will say why it cannot be made.
  }
}

function useFile(db: DatabaseSyncInstance, path: string, busyTimeoutMs: number): SqliteFile {
  const place = placeOf(path)
  /** A file that was moved or replaced may not be there after a restart, so nothing is acknowledged from it. */
  const checkInPlace = () => {
    if (placeOf(path) !== place) throw new LedgerUnavailable(`The ledger ${path} no longer exists.`)
  }
  return useDatabase({ db, path, isInMemory: false, busyTimeoutMs, checkInPlace })
}

interface DatabaseParts extends Pick<SqliteFile, 'db' | 'path' | 'isInMemory'> {
  readonly busyTimeoutMs: number
  /** Throws where the database is no longer the one that was opened. */
  readonly checkInPlace: () => void
}

function useDatabase({ db, path, isInMemory, busyTimeoutMs, checkInPlace }: DatabaseParts): SqliteFile {
  let closed = false
  const checkOpen = () => {
    if (closed) throw new LedgerUnavailable(`The ledger ${path} is closed.`)
  }
  const writer = createWriter({ db, busyTimeoutMs, enter: prepareRollups(db), check: checkInPlace })
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
        checkInPlace()
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
  // With a log, SQLite's own default is NORMAL, which may lose the last commits with the power: a double spend.
  // Without fullfsync a Mac's disk is not told to write its cache.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  // In KB: the default of 2 MB holds hardly more than the inner pages of the indexes. And in pages: what is changed again and
  // again, as the end of every index is, goes from the log to its place once in 16 MB.
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

/** Undefined where nothing is, and also where we may not look. */
function look(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function checkPlace(path: string): void {
  const directory = dirname(path)
  if (!look(directory)?.isDirectory()) {
    throw new LedgerConfigurationError(
      `The ledger ${path} cannot be created, because ${directory} is not a directory: create it first, or choose another file.`,
    )
  }
  if (look(path)?.isDirectory()) {
    throw new LedgerConfigurationError(`The ledger ${path} is a directory: choose a file inside it.`)
  }
}

function explainOpening(path: string, error: unknown): unknown {
  const code = readErrorCode(error)
  if (notDatabase.includes(code)) {
    return new LedgerConfigurationError(
      `The file ${path} is not a SQLite database, or is damaged: restore it from a backup, or choose another file.`,
      { cause: error },
    )
  }
  if (unwritable.includes(code)) {
    return new LedgerConfigurationError(
      `The ledger ${path} cannot be opened for writing: give this process write access to the file and its directory.`,
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
