import { describe, expect, it } from 'vitest'
import { createLimits } from './limits.ts'

function create() {
  let now = 0
  return {
    limits: createLimits({ monotonic: () => now }),
    pass: (ms: number) => {
      now += ms
    },
  }
}

const bucket = (book: string, most: number, secondsEach = 10) => ({ book, name: 'a', rate: { most, secondsEach } })

describe('limits', () => {
  it('take a token of every bucket, or of none, and tell the longest wait', () => {
    const { limits, pass } = create()
    const [one, five] = [bucket('one', 1, 60), bucket('five', 5)]
    expect(limits.enter({ buckets: [five, one], cost: 1 })).toMatchObject({ kind: 'in', isFull: true })
    expect(limits.enter({ buckets: [five, one], cost: 1 })).toEqual({ kind: 'later', seconds: 60 })
    const left = [1, 2, 3, 4, 5].map(() => limits.enter({ buckets: [five], cost: 1 }).kind)
    expect(left).toEqual(['in', 'in', 'in', 'in', 'later'])
    pass(60_000)
    expect(limits.enter({ buckets: [five, one], cost: 1 }).kind).toBe('in')
  })

  it('replace the cost when the visit ends', () => {
    const { limits } = create()
    const order = { buckets: [bucket('one', 1)], cost: 1 } as const
    const entry = limits.enter(order)
    expect(limits.enter(order).kind).toBe('later')
    if (entry.kind === 'in') entry.leave(0)
    expect(limits.enter(order).kind).toBe('in')
  })

  it('count a lagging clock in the newer period, so that no quota starts again', () => {
    const { limits } = create()
    const order = { quota: 'q', address: 'a', most: 1 }
    expect(limits.admitFree({ ...order, period: 8 })).toBe(true)
    expect(limits.admitFree({ ...order, period: 9 })).toBe(true)
    expect(limits.admitFree({ ...order, period: 8 })).toBe(false)
    expect(limits.admitFree({ ...order, period: 9 })).toBe(false)
  })
})
