import { expect, it } from 'vitest'
import { createMeter } from '../core/observability/metrics.ts'
import type { Ledger } from '../core/ports/ledger.ts'
import type { Books } from '../core/ports/reports.ts'
import type { Trace } from '../core/runtime.ts'
import { observeLedger } from './instrument.ts'

const trace: Trace = { span: (_name, _facts, work) => work(() => {}), isOn: () => false, headers: () => ({}) }

/** A ledger with a secret of its own, as a class may have: it must be asked as itself. */
class OwnLedger {
  readonly #answer = undefined
  fails = false
  readonly clock = { now: () => 1, monotonic: () => 1 }
  async peek(): Promise<undefined> {
    if (this.fails) throw new Error('away')
    return this.#answer
  }
  async close(): Promise<undefined> {
    return this.#answer
  }
}

function observe(changes: Partial<Ledger> = {}) {
  let now = 0
  const meter = createMeter()
  const own = Object.assign(new OwnLedger(), changes)
  const clock = { now: () => now, monotonic: () => (now += 20) }
  const ledger = observeLedger(Object.freeze(own) as unknown as Ledger, { meter, trace, clock })
  return { own, ledger, told: () => meter.format().split('\n') }
}

it('tells how long each call took, and that one failed', async () => {
  const { ledger, told } = observe()
  await ledger.peek(new Uint8Array())
  await ledger.close()
  expect(told()).toContain('paystile_ledger_seconds_bucket{operation="peek",le="0.025"} 1')
  expect(told()).toContain('paystile_ledger_seconds_sum{operation="peek"} 0.02')
  const failing = observe({ peek: () => Promise.reject(new Error('away')) })
  await expect(failing.ledger.peek(new Uint8Array())).rejects.toThrow('away')
  expect(failing.told()).toContain('paystile_ledger_failures_total{operation="peek"} 1')
  expect(failing.told()).toContain('paystile_ledger_seconds_count{operation="peek"} 1')
})

it('has a clock only where the ledger has one, and the other parts of the ledger', () => {
  const journal = {} as Ledger['journal']
  const { ledger, own } = observe({ journal })
  expect(ledger.clock).toBe(own.clock)
  expect(ledger.journal).toBe(journal)
  expect('clock' in observeLedger({} as Ledger, { meter: createMeter(), trace, clock: own.clock })).toBe(false)
})

it('tells of requests when they are written down, and of writing that failed', async () => {
  let isAway = true
  const count = async () => {
    if (isAway) throw new Error('away')
  }
  const { ledger, told } = observe({ books: { count } as unknown as Books })
  const usage = [
    { at: 0, endpoint: '/a', event: 'challenged', count: 3 },
    { at: 0, endpoint: '/b', event: 'challenged', count: 4 },
    { at: 0, endpoint: '/b', event: 'delivered', count: 1 },
  ] as const
  await expect(ledger.books.count(usage)).rejects.toThrow('away')
  expect(told()).toContain('paystile_usage_flush_failures_total 1')
  expect(told().join()).not.toContain('paystile_requests_total')
  isAway = false
  await ledger.books.count(usage)
  expect(told()).toContain('paystile_requests_total{outcome="challenged"} 7')
  expect(told()).toContain('paystile_requests_total{outcome="delivered"} 1')
})
