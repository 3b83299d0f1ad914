/** Replaces the processes of a gateway that ended. */
import type { Log } from '../../core/runtime.ts'
import { CommandError } from '../output.ts'
import type { RunningProcess } from './running-process.ts'

const longestRestMs = 10_000
/** A process that lives longer has not failed because of its start. */
const steadyMs = 10_000
const mostFailures = 5

interface ReplacementParts {
  /** The processes that run. */
  readonly all: ReadonlySet<unknown>
  /** The number of processes that should run. */
  readonly count: number
  readonly countServing: () => number
  readonly log: Log
  readonly start: () => void
}

/** A process that ended. */
type Ended = Pick<RunningProcess, 'isServing' | 'startedAt' | 'failure'> & {
  readonly worker: { readonly process: { readonly pid?: number | undefined } }
}

/** Starts a process for each one that ended, after a pause that grows with every failure. */
export function createReplacements({ all, count, countServing, log, start }: ReplacementParts) {
  let hasServed = false
  let failures = 0
  const resting = new Set<ReturnType<typeof setTimeout>>()
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  let finish: () => void = () => {}
  const complete = new Promise<void>((resolve) => {
    finish = resolve
  })
  return {
    /** Rejects when no process can start. */
    failed,
    /** Resolves when all processes serve for the first time. */
    complete,
    noteService: () => {
      hasServed = true
      if (countServing() >= count) finish()
    },
    replace: ({ isServing, startedAt, failure, worker }: Ended, how: string): void => {
      failures = isServing && performance.now() - startedAt >= steadyMs ? 0 : failures + 1
      const why = failure?.message ?? `the process ended with ${how}`
      const isFutile = !isServing && failures >= mostFailures && countServing() === 0
      if (failure && !hasServed) fail(failure)
      else if (isFutile) {
        const message = `The processes cannot start: ${why.replace(/\.$/, '')}. See the log.`
        fail(new CommandError('failure', 'processes_failed', message))
      } else {
        const restMs = failures === 0 ? 0 : Math.min(100 * 2 ** (failures - 1), longestRestMs)
        log.error('process.ended', { pid: worker.process.pid ?? 0, why, againInMs: restMs })
        const timer = setTimeout(() => {
          resting.delete(timer)
          if (all.size < count) start()
        }, restMs)
        resting.add(timer)
      }
    },
    /** Starts no process any more. A pause that is left would delay the end of the command. */
    stop: () => {
      for (const timer of resting) clearTimeout(timer)
    },
  }
}
