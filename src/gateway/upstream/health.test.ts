import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Log } from '../../core/runtime.ts'
import type { UpstreamPlan } from '../config/plan.ts'
import { createUpstreamHealth } from './health.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const plan = { origin: 'http://upstream.test', probe: { everyMs: 10_000 } } as UpstreamPlan

/** An upstream with a fault that the test sets, and the names of the logged events with their reasons. */
function createFixture() {
  const upstream: { fault: string | undefined } = { fault: 'it refuses connections' }
  const logged: string[] = []
  const note: Log['info'] = (event, facts) => void logged.push(`${event} ${facts?.['why'] ?? ''}`.trim())
  const log: Log = { info: note, warn: note, error: note }
  const health = createUpstreamHealth(plan, async () => upstream.fault, log)
  return { health, upstream, takeLog: () => logged.splice(0) }
}

describe('the log of an upstream that is down', () => {
  it('has one entry at once, one a minute while it lasts, and one at its end', async () => {
    const { health, upstream, takeLog } = createFixture()
    await health.start()
    expect(takeLog()).toEqual(['upstream.down it refuses connections'])
    await vi.advanceTimersByTimeAsync(59_000)
    expect(takeLog()).toEqual([])
    upstream.fault = 'it does not respond'
    await vi.advanceTimersByTimeAsync(61_000)
    expect(takeLog()).toEqual(['upstream.down it does not respond', 'upstream.down it does not respond'])
    expect(health.describe().why).toBe('it does not respond')
    upstream.fault = undefined
    await vi.advanceTimersByTimeAsync(60_000)
    expect(takeLog()).toEqual(['upstream.up'])
    health.stop()
  })

  it('has an entry for each outage, also within a minute', async () => {
    const { health, upstream, takeLog } = createFixture()
    const route = health.openRoute('GET /data', undefined)
    await health.start()
    upstream.fault = undefined
    await vi.advanceTimersByTimeAsync(1_000)
    route.failed({ code: 'UND_ERR_CONNECT_TIMEOUT' }, 'it does not respond', undefined)
    expect(takeLog()).toEqual([
      'upstream.down it refuses connections',
      'upstream.up',
      'upstream.down it does not respond',
    ])
    health.stop()
  })
})

it.each(['UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'])(
  'T254: %s of an unpaid request starts a probe, which alone tells whether the upstream is down',
  async (code) => {
    const { health, upstream, takeLog } = createFixture()
    upstream.fault = undefined
    const route = health.openRoute('GET /data', undefined)
    await health.start()
    for (let times = 0; times < 10; times += 1) route.failed({ code }, 'late', undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(takeLog()).toEqual([])
    upstream.fault = 'it refuses connections'
    route.failed({ code }, 'late', undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(takeLog()).toEqual(['upstream.down it refuses connections'])
    health.stop()
  },
)

it('the log of a route that fails has one entry at once and one a minute while it lasts', async () => {
  const { health, upstream, takeLog } = createFixture()
  upstream.fault = undefined
  const route = health.openRoute('GET /data', undefined)
  await health.start()
  // The route trips its own breaker, and the probe then finds the upstream down.
  for (const tx of ['1', '2', '3', '4', '5']) route.answered(500, { tx, payer: tx } as never)
  expect(takeLog()).toEqual([expect.stringContaining('route.failing the upstream')])
  upstream.fault = 'it refuses connections'
  await vi.advanceTimersByTimeAsync(59_000)
  expect(takeLog().filter((entry) => entry.startsWith('route'))).toEqual([])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(takeLog().filter((entry) => entry.startsWith('route'))).toEqual(['route.failing it refuses connections'])
  upstream.fault = undefined
  await vi.advanceTimersByTimeAsync(1_000)
  expect(takeLog()).toContain('route.recovered')
  health.stop()
})
