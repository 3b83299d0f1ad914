import { describe, expect, it } from 'vitest'
import { shareReading } from './shared-reading.ts'

function setUp(read: (count: number) => Promise<number>) {
  const state = { now: 0, count: 0 }
  const again = () => {
    state.count += 1
    return read(state.count)
  }
  const shared = shareReading(again, { monotonic: () => state.now }, 100)
  return { shared, state }
}

describe('a shared reading', () => {
  it('is one for all callers until its time is over', async () => {
    const { shared, state } = setUp(async (number) => number)
    expect(await Promise.all([shared(), shared()])).toEqual([1, 1])
    state.now = 99
    expect(await shared()).toBe(1)
    state.now = 100
    expect(await shared()).toBe(2)
    expect(state.count).toBe(2)
  })

  it('is read again after it failed', async () => {
    const { shared } = setUp(async (number) => {
      if (number === 1) throw new Error('the node is gone')
      return number
    })
    await expect(shared()).rejects.toThrow('the node is gone')
    expect(await shared()).toBe(2)
  })
})
