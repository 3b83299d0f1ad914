/**
 * Counts requests apart from payments. The counts stay in memory and are written once a second in one small batch, so
 * that no request waits for a write. A killed process loses the last second of these counts. They contain no payments.
 */
import type { Books, Usage, UsageEvent } from '../../core/ports/reports.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import { within } from './within.ts'

const hourMs = 3_600_000
const everyMs = 1_000
/** The longest interval between attempts while the store is unavailable. */
const slowestMs = 60_000
/** The longest delay of a shutdown. */
const lastMs = 1_000
/**
 * Distinct endpoints per hour. Further ones are counted without a name, so that clients cannot fill the store with
 * names.
 */
const mostEndpoints = 200
/** Lines kept while the store is unavailable: more than one hour of the maximum. */
const mostLines = 2_000

type Counts = Map<string, Partial<Record<UsageEvent, number>>>

export function createUsageCounters(books: Pick<Books, 'count'>, clock: Clock, log: Log) {
  let counts: Counts = new Map()
  /** Lines that are not written yet. */
  let behind: readonly Usage[] = []
  let names = new Set<string>()
  let hour = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let writing: Promise<void> = Promise.resolve()
  let stopped = false
  let failures = 0

  const lineOf = (endpoint: string): Partial<Record<UsageEvent, number>> => {
    const known = counts.get(endpoint)
    if (known) return known
    const isCounted = endpoint === '' || names.has(endpoint) || names.size < mostEndpoints
    if (!isCounted) return lineOf('')
    names.add(endpoint)
    const line = {}
    counts.set(endpoint, line)
    return line
  }
  /** Assigns the counts to the current hour, at most one second after the events. */
  const gather = (): readonly Usage[] => {
    const at = Math.floor(clock.now() / hourMs) * hourMs
    if (hour !== 0 && at !== hour) names = new Set()
    hour = at
    const fresh = [...counts].flatMap(([endpoint, line]) =>
      Object.entries(line).map(([event, count]) => ({ at, endpoint, event: event as UsageEvent, count })),
    )
    counts = new Map()
    return mergeLines([...behind, ...fresh]).slice(0, mostLines)
  }
  const write = async (): Promise<void> => {
    const lines = gather()
    behind = []
    if (lines.length === 0) return
    try {
      await books.count(lines)
      failures = 0
    } catch (error) {
      behind = lines
      failures += 1
      log.warn('usage.write_failed', { why: error instanceof Error ? error.message : String(error) })
    }
  }
  const flush = (): Promise<void> => {
    writing = writing.then(write)
    return writing
  }
  const wait = (): void => {
    if (stopped) return
    timer = setTimeout(
      () => {
        timer = undefined
        void flush().then(() => {
          if (behind.length > 0 && !timer) wait()
        })
      },
      Math.min(everyMs * 2 ** failures, slowestMs),
    )
    timer.unref?.()
  }

  return {
    /** Must be cheap: every unpaid request calls it. */
    count: (endpoint: string, event: UsageEvent) => {
      const line = lineOf(endpoint)
      line[event] = (line[event] ?? 0) + 1
      if (!timer) wait()
    },
    /** Writes the current counts. */
    flush,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      // If the last write failed, the shutdown does not wait for another.
      if (failures > 0) return
      await within(lastMs, flush(), () => {})
    },
  }
}

export type UsageCounters = ReturnType<typeof createUsageCounters>

function mergeLines(lines: readonly Usage[]): readonly Usage[] {
  const merged = new Map<string, Usage>()
  for (const line of lines) {
    const name = `${line.at} ${line.event} ${line.endpoint}`
    merged.set(name, { ...line, count: line.count + (merged.get(name)?.count ?? 0) })
  }
  return [...merged.values()]
}
