/** A log for work that is retried every second: the same failure is logged once an hour. */
import type { Clock, Facts, Log } from '../core/runtime.ts'

const againMs = 3_600_000
const mostTold = 1_000

export function createThrottledLog(log: Log, clock: Pick<Clock, 'monotonic'>): Log {
  const told = new Map<string, number>()
  const once =
    (tell: Log['warn']): Log['warn'] =>
    (event, facts: Facts = {}) => {
      const name = `${event} ${Object.values(facts).join(' ')}`
      const now = clock.monotonic()
      if (now < (told.get(name) ?? Number.NEGATIVE_INFINITY) + againMs) return
      if (told.size >= mostTold) told.clear()
      told.set(name, now)
      tell(event, facts)
    }
  return { info: log.info, warn: once(log.warn), error: once(log.error) }
}
