/** Work that is done again and again beside the requests: never twice at the same time, and ended cleanly. */
import type { Log } from '../core/runtime.ts'

export interface LoopParts {
  /** Names it in the log when it fails. */
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<void>
  readonly log: Log
}

export interface Loop {
  /** Does it once, now. What fails is logged, and tried again with the next turn. */
  run(): Promise<void>
  /** Resolves when what is under way has ended. */
  stop(): Promise<void>
}

export function startLoop({ name, everyMs, work, log }: LoopParts): Loop {
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
    timer = setTimeout(() => void run().then(later), everyMs)
    timer.unref?.()
  }
  later()
  return {
    run,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
