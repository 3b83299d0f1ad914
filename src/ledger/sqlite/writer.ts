/**
 * The only writer of a process to a SQLite file.
 *
 * Jobs that wait at the same moment are committed together, with one flush of the disk, and get their results after it.
 * While another process holds the lock, this process waits without blocking its event loop. After the timeout, all
 * waiting jobs fail at once.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { TotalsChange } from '../rules/totals.ts'

/** Passes changes of the books. They are written once for all jobs of a commit. */
export type Enter = (changes: readonly TotalsChange[]) => void

export interface Writer {
  write<T>(work: (enter: Enter) => T): Promise<T>
  /** In its own transaction. */
  writeAlone<T>(work: () => T): Promise<T>
  /** Resolves when no job is waiting. */
  drain(): Promise<void>
}

interface Job {
  /** May run twice. The first run is then rolled back. */
  readonly work: (enter: Enter) => unknown
  readonly done: (result: unknown) => void
  readonly failed: (error: unknown) => void
  readonly isAlone: boolean
}

/** Limits the time for which one commit blocks the process. */
const mostJobs = 256
const pauseMs = 2

const busy = 5
const constraint = 19

export interface WriterParts {
  readonly db: DatabaseSyncInstance
  readonly busyTimeoutMs: number
  /** Writes the changes of the books of all jobs of a commit, inside their transaction. */
  readonly enter: Enter
  /** Runs after each commit. If it throws, the jobs fail with its error. */
  readonly check: () => void
}

export function createWriter({ db, busyTimeoutMs, enter, check }: WriterParts): Writer {
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  const [mark, keep, undo] = [db.prepare('SAVEPOINT job'), db.prepare('RELEASE job'), db.prepare('ROLLBACK TO job')]
  const waiting: Job[] = []
  let serving: Promise<void> | undefined

  const perform = (job: Job, entered: TotalsChange[]): (() => void) => {
    const own: TotalsChange[] = []
    const result = job.work((changes) => own.push(...changes))
    entered.push(...own)
    return () => job.done(result)
  }
  /** Runs one job of several. Its error affects only this job, unless SQLite rolled back the whole transaction. */
  const attempt = (job: Job, entered: TotalsChange[]): (() => void) => {
    mark.run()
    try {
      const answer = perform(job, entered)
      keep.run()
      return answer
    } catch (error) {
      if (!db.isTransaction) throw error
      undo.run()
      keep.run()
      return () => job.failed(error)
    }
  }
  /**
   * Jobs rarely throw, so they run without savepoints first. If one throws, all are rolled back and run again with
   * savepoints.
   */
  const performAll = async (jobs: readonly Job[], entered: TotalsChange[]): Promise<readonly (() => void)[]> => {
    try {
      return jobs.map((job) => perform(job, entered))
    } catch (error) {
      rollBack(db)
      if (jobs.length === 1) throw error
      entered.length = 0
      await patiently(() => begin.run(), busyTimeoutMs)
      return jobs.map((job) => attempt(job, entered))
    }
  }
  const finish = async (jobs: readonly Job[]): Promise<void> => {
    try {
      const entered: TotalsChange[] = []
      const answers = await performAll(jobs, entered)
      if (entered.length > 0) enter(entered)
      commit.run()
      check()
      for (const answer of answers) answer()
    } catch (error) {
      rollBack(db)
      for (const job of jobs) job.failed(error)
    }
  }
  const next = (): readonly Job[] => {
    const alone = waiting.findIndex(({ isAlone }) => isAlone)
    return waiting.splice(0, alone < 0 ? mostJobs : Math.min(Math.max(alone, 1), mostJobs))
  }
  const serve = async () => {
    while (waiting.length > 0) {
      // Jobs from the rest of this turn of the event loop can join.
      await new Promise((resolve) => setImmediate(resolve))
      try {
        await patiently(() => begin.run(), busyTimeoutMs)
        await finish(next())
      } catch (error) {
        for (const job of waiting.splice(0)) job.failed(error)
      }
    }
    serving = undefined
  }

  const queue = <T>(work: Job['work'], isAlone: boolean) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ work, done: resolve as (result: unknown) => void, failed: reject, isAlone })
      serving ??= serve()
    })

  return { write: (work) => queue(work, false), writeAlone: (work) => queue(work, true), drain: async () => serving }
}

/** Retries until the lock is free or the timeout is over. SQLite's own busy handler would block the whole process. */
export async function patiently<T>(work: () => T, timeoutMs: number): Promise<T> {
  for (let left = Math.ceil(timeoutMs / pauseMs); ; left--) {
    try {
      return work()
    } catch (error) {
      if (readErrorCode(error) !== busy || left <= 0) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

export function rollBack(db: DatabaseSyncInstance): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
  } catch {
    // The first error is reported. SQLite has often rolled back already.
  }
}

/** Errors of the storage are an outage. Errors of the statement are a defect of the program. */
export function isOutage(error: unknown): boolean {
  const code = readErrorCode(error)
  return code !== undefined && code !== constraint
}

/** SQLite's primary error code. */
export function readErrorCode(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}
