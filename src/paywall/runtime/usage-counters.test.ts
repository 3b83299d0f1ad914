import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Usage } from '../../core/ports/reports.ts'
import { createUsageCounters } from './usage-counters.ts'

const hour = 3_600_000
const log = { info: () => {}, warn: vi.fn(), error: () => {} }

function createDesk() {
  let now = 10 * hour
  let isAway = false
  let isSilent = false
  const written: Usage[] = []
  const books = {
    count: async (lines: readonly Usage[]) => {
      if (isAway) throw new Error('the store is away')
      if (isSilent) await new Promise(() => {})
      written.push(...lines)
    },
  }
  const usage = createUsageCounters(books, { now: () => now, monotonic: () => now }, log)
  const total = () => written.reduce((sum, { count }) => sum + count, 0)
  return {
    usage,
    written,
    total,
    leave: () => {
      isAway = true
    },
    hang: () => {
      isSilent = true
    },
    come: () => {
      isAway = false
    },
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe('the book of usage', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('writes behind, once a second, under the hour', async () => {
    const { usage, written } = createDesk()
    for (let index = 0; index < 3; index += 1) usage.count('/a', 'challenged')
    usage.count('/b', 'refused')
    expect(written).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(written).toEqual([
      { at: 10 * hour, endpoint: '/a', event: 'challenged', count: 3 },
      { at: 10 * hour, endpoint: '/b', event: 'refused', count: 1 },
    ])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(written).toHaveLength(2)
  })

  it('loses nothing while the store is away, and tries again by itself', async () => {
    const { usage, total, leave, come } = createDesk()
    leave()
    log.warn.mockClear()
    usage.count('/a', 'challenged')
    await vi.advanceTimersByTimeAsync(3_000)
    usage.count('/a', 'challenged')
    await vi.advanceTimersByTimeAsync(600_000)
    // After 1, 2, 4, 8, 16, 32 seconds, and then once a minute.
    expect([total(), log.warn.mock.calls.length]).toEqual([0, 15])
    come()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(total()).toBe(2)
    usage.count('/a', 'challenged')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(total()).toBe(3)
  })

  it('writes the rest down when it stops', async () => {
    const { usage, total } = createDesk()
    usage.count('/a', 'free')
    await usage.stop()
    expect(total()).toBe(1)
  })

  it('holds up the end for a second at the most', async () => {
    const { usage, hang } = createDesk()
    hang()
    usage.count('/a', 'free')
    const stopped = usage.stop().then(() => 'stopped')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await stopped).toBe('stopped')
  })

  it('T126: stays small for any requests of strangers, and counts all of them', async () => {
    const { usage, written, total, pass } = createDesk()
    for (let index = 0; index < 10_000; index += 1) usage.count(`/${index}`, 'challenged')
    await vi.advanceTimersByTimeAsync(1_000)
    usage.count('/one-more', 'challenged')
    await vi.advanceTimersByTimeAsync(1_000)
    expect([new Set(written.map(({ endpoint }) => endpoint)).size, total()]).toEqual([201, 10_001])
    pass(hour)
    await usage.flush()
    usage.count('/one-more', 'challenged')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(written.at(-1)?.endpoint).toBe('/one-more')
  })
})
