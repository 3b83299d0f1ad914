/** Repeats background work beside the requests. It never runs twice at the same time, and stops cleanly. */
import type { Log } from '../core/runtime.ts'

export interface LoopParts {
  /** The name of the work in log messages about failures. */
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<void>
  readonly log: Log
  /** False while another process of the gateway does this work. */
  readonly leads?: (() => boolean) | undefined
}

export function startLoop({ name, everyMs, work, log, leads = () => true }: LoopParts) {
  let running: Promise<void> = Promise.resolve()
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  const run = (): Promise<void> => {
    running = running.then(work).catch((error) => {
      log.warn(`${name}.failed`, { why: error instanceof Error ? error.message : String(error) })
    })
    return running
  }
  const later = (): void => {
    if (stopped) return
    timer = setTimeout(() => void (leads() ? run() : running).then(later), everyMs)
    timer.unref?.()
  }
  later()
  return {
    /** Runs the work once, now. A failure is logged, and the next turn repeats the work. */
    run,
    /** Resolves when the current run has ended. */
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

export type Loop = ReturnType<typeof startLoop>
