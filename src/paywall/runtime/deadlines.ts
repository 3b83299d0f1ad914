/**
 * Deadlines of running responses, with one timer for all of them. Thousands of responses per second may start in a
 * window of one hour, and nearly all of them end long before the deadline.
 */
import type { Clock } from '../../core/runtime.ts'

export interface Deadlines {
  /** Calls back once at this time, in milliseconds since 1970. The returned function cancels the deadline. */
  watch(end: number, call: () => void): () => void
}

interface Entry {
  /** Index in the list, for removal in constant time. */
  at: number
  readonly end: number
  readonly call: () => void
}

/** Node's timers are limited to about 24 days, and the clock may be changed. */
const longestTimerMs = 3_600_000

export function createDeadlines(clock: Clock): Deadlines {
  const entries: Entry[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The deadline that the timer is set for. */
  let next = Number.POSITIVE_INFINITY

  /** Returns whether the entry was still in the list. */
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
