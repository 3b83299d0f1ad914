/** One SQLite file, opened so that what was committed stays committed, and used one transaction at a time. */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { LedgerUnavailable } from '../core/ports.ts'
import { LedgerConfigurationError } from './identity.ts'
import { checkDurability, migrate } from './migrations.ts'

export interface SqliteFile {
  readonly db: DatabaseSyncInstance
  /** Runs one transaction that holds the write lock from its start, so nothing it reads can change under it. */
  write<T>(work: () => T): T
  /** Runs one read that needs no lock. */
  read<T>(work: () => T): T
  close(): void
}

const busy = 5
const constraint = 19
const unwritable: readonly (number | undefined)[] = [3, 8, 14]
const notDatabase: readonly (number | undefined)[] = [11, 26]

const walAttempts = 100
const walPauseMs = 20

/** Opens the file, makes it if it is new, and has `agree` look into it before the first change is committed. */
export async function openSqliteFile(
  path: string,
  busyTimeoutMs: number,
  agree: (db: DatabaseSyncInstance) => void,
): Promise<SqliteFile> {
  checkPlace(path)
  let db: DatabaseSyncInstance | undefined
  try {
    db = new DatabaseSync(path, { timeout: busyTimeoutMs })
    await keepLog(db)
    // The driver's own default is NORMAL with a log, which may lose the last commits with the power: a double spend.
    // Without fullfsync a Mac's disk is not told to write its cache.
    db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
    checkDurability(db, path)
    db.exec('BEGIN IMMEDIATE')
    migrate(db, path)
    agree(db)
    db.exec('COMMIT')
    return useFile(db, path)
  } catch (error) {
    db?.close()
    throw explainOpening(path, error)
  }
}

/** Uses an opened database. The file must stay where it is: one that was moved away may not be there after a restart. */
export function useFile(db: DatabaseSyncInstance, path: string): SqliteFile {
  const place = placeOf(path)
  const attempt = <T>(work: () => T): T => {
    if (!db.isOpen) throw new LedgerUnavailable(`The ledger ${path} is closed.`)
    try {
      const result = work()
      if (placeOf(path) !== place) throw new LedgerUnavailable(`The ledger ${path} is no longer in its place.`)
      return result
    } catch (error) {
      if (db.isTransaction) rollBack(db)
      throw explain(path, error)
    }
  }
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  return {
    db,
    read: attempt,
    write: (work) =>
      attempt(() => {
        begin.run()
        const result = work()
        commit.run()
        return result
      }),
    close: () => {
      if (db.isOpen) db.close()
    },
  }
}

/** SQLite cannot always wait for a rival that is switching the same new file at the same moment, so we do. */
async function keepLog(db: DatabaseSyncInstance): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return db.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      if (codeOf(error) !== busy || attempt === walAttempts) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, walPauseMs))
  }
}

function rollBack(db: DatabaseSyncInstance): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // The first error is the one to report, and SQLite has often rolled back by itself.
  }
}

function placeOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev}/${stats.ino}`
}

function checkPlace(path: string): void {
  const directory = dirname(path)
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new LedgerConfigurationError(
      `The ledger ${path} has no place, because ${directory} is not a directory: make it first, or name another file.`,
    )
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new LedgerConfigurationError(`The ledger ${path} is a directory: name a file inside it.`)
  }
}

function explainOpening(path: string, error: unknown): unknown {
  const code = codeOf(error)
  if (notDatabase.includes(code)) {
    return new LedgerConfigurationError(
      `The file ${path} is not a SQLite database, or is damaged: restore it from a backup, or name another file.`,
      { cause: error },
    )
  }
  if (unwritable.includes(code)) {
    return new LedgerConfigurationError(
      `The ledger ${path} cannot be opened for writing: let this process write to the file and to its directory.`,
      { cause: error },
    )
  }
  return explain(path, error)
}

/** What the store could not do is an outage; what it was wrongly asked to do is a fault of the program. */
function explain(path: string, error: unknown): unknown {
  const code = codeOf(error)
  if (code === undefined || code === constraint) return error
  const what = error instanceof Error ? error.message : 'unknown'
  return new LedgerUnavailable(`The ledger ${path} cannot be used at this moment: ${what}.`, { cause: error })
}

/** SQLite's primary error code. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}
