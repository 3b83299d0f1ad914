import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { NodeReader } from './node-reader.ts'
import { createSharedReads } from './shared-reads.ts'
import type { Watcher } from './watcher.ts'

const quiet = () => {}

/** Reads whose watcher is current and has seen nothing, and the times at which the node was asked. */
function createReads() {
  const askedAt: number[] = []
  const nodeReader: NodeReader = {
    failures: () => 0,
    appeared: async () => {
      askedAt.push(Date.now())
      return false
    },
    read: async () => ({ kind: 'missing' }),
    ask: () => Promise.reject(new Error('not asked for here')),
  }
  const reads = createSharedReads({
    nodeReaders: [nodeReader],
    clock: { now: Date.now, monotonic: Date.now },
    log: { info: quiet, warn: quiet, error: quiet },
    hedgeMs: 500,
    onHedge: quiet,
    watcher: () => ({ isCurrent: () => true }) as Watcher,
  })
  return { reads, askedAt }
}

describe('a transaction that the watcher does not have', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 0 }))
  afterEach(() => void vi.useRealTimers())

  it.each([[{ isOld: false, firstMs: 3_000 }], [{ isOld: true, firstMs: 0 }]])(
    'is read from the nodes at $firstMs ms if isOld is $isOld',
    async ({ isOld, firstMs }) => {
      const { reads, askedAt } = createReads()
      const reading = reads.join('tx', 5_000, 'confirmed', 'usual', isOld)
      await vi.advanceTimersByTimeAsync(6_000)
      expect(await reading).toEqual({ kind: 'missing' })
      expect(askedAt[0]).toBe(firstMs)
    },
  )
})
