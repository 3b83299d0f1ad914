/**
 * What requests come to besides payments: counted in memory, written behind every second in one small batch, so that no
 * request waits for it. A process that is killed loses the last second of it; payments are never in it.
 */
import type { Books, Usage, UsageEvent } from '../../core/ports/reports.ts'
import type { Clock, Log } from '../../core/runtime.ts'

export interface UsageCounters {
  /** One look into a map: this is on the path of every unpaid request. */
  count(endpoint: string, event: UsageEvent): void
  /** Writes down what was counted until now. */
  flush(): Promise<void>
  stop(): Promise<void>
}

const hourMs = 3_600_000
const everyMs = 1_000
/** While the store is away it is asked less and less often. */
const slowestMs = 60_000
/** How long the end of the process may be held up by it. */
const lastMs = 1_000
/** Different endpoints within one hour; what comes beyond is counted under none, so that nobody fills the store by asking. */
const mostEndpoints = 200
/** Lines kept while the store is away: more than an hour of all that can be counted. */
const mostLines = 2_000

type Counts = Map<string, Partial<Record<UsageEvent, number>>>

export function createUsageCounters(books: Pick<Books, 'count'>, clock: Clock, log: Log): UsageCounters {
  let counts: Counts = new Map()
  /** What could not be written yet. */
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
  /** Under the hour in which it is gathered, a second after it happened at the most. */
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
    count: (endpoint, event) => {
      const line = lineOf(endpoint)
      line[event] = (line[event] ?? 0) + 1
      if (!timer) wait()
    },
    flush,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      // A store that did not answer last time is not waited for.
      if (failures > 0) return
      let limit: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => {
        limit = setTimeout(resolve, lastMs)
      })
      await Promise.race([flush(), late])
      clearTimeout(limit)
    },
  }
}

function mergeLines(lines: readonly Usage[]): readonly Usage[] {
  const merged = new Map<string, Usage>()
  for (const line of lines) {
    const name = `${line.at} ${line.event} ${line.endpoint}`
    merged.set(name, { ...line, count: line.count + (merged.get(name)?.count ?? 0) })
  }
  return [...merged.values()]
}
