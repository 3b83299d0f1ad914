/** Repeats background work beside the requests. It never runs twice at the same time, and stops cleanly. */
import type { ClockCheck, Log } from '../core/runtime.ts'

export interface LoopParts {
  /** The name of the work in log messages about failures. */
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<void>
  readonly log: Log
  /** False while another process of the gateway does this work. */
  readonly leads?: (() => boolean) | undefined
  /** Set for work that decides by the time: its decisions stay, so it waits until the clock is known to be right. */
  readonly clockCheck?: Pick<ClockCheck, 'why' | 'isConfirmed'> | undefined
}

export function isTimeSure(clockCheck: LoopParts['clockCheck']): boolean {
  return clockCheck === undefined || (clockCheck.why() === undefined && clockCheck.isConfirmed())
}

export function startLoop({ name, everyMs, work, log, leads = () => true, clockCheck }: LoopParts) {
  let running: Promise<void> = Promise.resolve()
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  const run = (): Promise<void> => {
    const turn = async (): Promise<void> => (isTimeSure(clockCheck) ? work() : undefined)
    running = running.then(turn).catch((error) => {
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
