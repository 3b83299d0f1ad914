/**
 * Times at which something that runs has to be over. One timer stands for all of them: thousands a second begin in a
 * window that ends in an hour, and each is over long before.
 */
import type { Clock } from '../../core/runtime.ts'

export interface Deadlines {
  /** Calls back once, when that time has come (in milliseconds since 1970). The function returned calls it off. */
  watch(end: number, call: () => void): () => void
}

interface Entry {
  /** Its place in the list, so that it can go at once. */
  at: number
  readonly end: number
  readonly call: () => void
}

/** A timer of Node's is not good for more than 24 days, and a clock may be moved. */
const longestTimerMs = 3_600_000

export function createDeadlines(clock: Clock): Deadlines {
  const entries: Entry[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  /** For which end the timer is set. */
  let next = Number.POSITIVE_INFINITY

  /** Whether it was still there. */
  const leave = (entry: Entry): boolean => {
    if (entries[entry.at] !== entry) return false
    const last = entries.pop()
    if (last && last !== entry) {
      entries[entry.at] = last
      last.at = entry.at
    }
    return true
  }
  const wait = (end: number): void => {
    clearTimeout(timer)
    next = end
    timer = setTimeout(look, Math.min(Math.max(0, Math.ceil(end - clock.now())), longestTimerMs))
    timer.unref?.()
  }
  const look = (): void => {
    timer = undefined
    next = Number.POSITIVE_INFINITY
    const now = clock.now()
    for (const entry of entries.filter(({ end }) => end <= now)) if (leave(entry)) entry.call()
    const first = entries.reduce((least, { end }) => Math.min(least, end), Number.POSITIVE_INFINITY)
    if (first < next) wait(first)
  }

  return {
    watch: (end, call) => {
      const entry = { at: entries.length, end, call }
      entries.push(entry)
      if (end < next) wait(end)
      return () => void leave(entry)
    },
  }
}
