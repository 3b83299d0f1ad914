/**
 * The one writer of a process on a SQLite file.
 *
 * Work that is waiting at the same moment is committed together: the disk is asked once for all of it, and nobody has
 * an answer before that. While another process holds the lock this one waits without standing still, and when it has
 * waited too long, all that waited with it learn so at once.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { TotalsChange } from '../rules/totals.ts'

/** Hands in what has changed in the books. It is written once for all that is committed together. */
export type Enter = (changes: readonly TotalsChange[]) => void

export interface Writer {
  write<T>(work: (enter: Enter) => T): Promise<T>
  /** In a transaction of its own. */
  writeAlone<T>(work: () => T): Promise<T>
  /** Resolves when nothing is waiting any more. */
  drain(): Promise<void>
}

interface Job {
  /** May run twice, and the first time is undone then. */
  readonly work: (enter: Enter) => unknown
  readonly done: (result: unknown) => void
  readonly failed: (error: unknown) => void
  readonly isAlone: boolean
}

/** Bounds for how long one commit can hold up the process. */
const mostJobs = 256
const pauseMs = 2

const busy = 5
const constraint = 19

export interface WriterParts {
  readonly db: DatabaseSyncInstance
  readonly busyTimeoutMs: number
  /** Writes what the jobs of one commit have changed in the books, inside their transaction. */
  readonly enter: Enter
  /** Runs after each commit: what it throws is the answer instead of the results. */
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
  /** Runs one job of several. What it throws concerns nobody else, unless SQLite gave up the whole transaction. */
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
  /** Jobs hardly ever throw, so they go without savepoints first. Where one does, all are undone and done again with. */
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
      // Whatever else this turn of the event loop brings in can join.
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

  return {
    write: (work) => queue(work, false),
    writeAlone: (work) => queue(work, true),
    drain: async () => serving,
  }
}

/** Tries until the lock is free or the time is over. SQLite's own way of waiting would stop the whole process. */
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
    // The first error is the one to report, and SQLite has often rolled back by itself.
  }
}

/** What the store could not do is an outage; what it was wrongly asked to do is a fault of the program. */
export function isOutage(error: unknown): boolean {
  const code = readErrorCode(error)
  return code !== undefined && code !== constraint
}

/** SQLite's primary error code. */
export function readErrorCode(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}
