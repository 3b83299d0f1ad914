import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSleepingMachine } from '../../../tests/harness/sleeping-machine.ts'
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import { holdLease } from './lease.ts'

describe('a lease of a process that slept', () => {
  afterEach(() => vi.useRealTimers())
  const grant = { tx: new Uint8Array(64), fence: 1n } as unknown as Grant
  const log = { info: () => {}, warn: () => {}, error: () => {} }

  it('T202: has ended, before a timer or the ledger tells it', () => {
    vi.useFakeTimers()
    const { clock, pass, sleep } = createSleepingMachine()
    const renew = vi.fn(async () => true)
    const ledger = { renew } as unknown as Ledger
    const lease = holdLease({ grant, takenAt: clock.monotonic(), leaseMs: 15_000, ledger, clock, log })
    pass(4_000)
    expect(lease.isAlive()).toBe(true)
    sleep(20_000)
    expect(lease.isAlive()).toBe(false)
    lease.stop()
    expect(renew).not.toHaveBeenCalled()
  })

  it('T202: is not renewed, because another server may hold it', async () => {
    vi.useFakeTimers()
    const { clock, sleep } = createSleepingMachine()
    const renew = vi.fn(async () => true)
    const onLost = vi.fn()
    const ledger = { renew } as unknown as Ledger
    const lease = holdLease({ grant, takenAt: clock.monotonic(), leaseMs: 15_000, ledger, clock, log })
    lease.onLost(onLost)
    sleep(20_000)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(onLost).toHaveBeenCalledTimes(1)
    expect(renew).not.toHaveBeenCalled()
  })
})
