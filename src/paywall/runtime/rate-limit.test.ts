import { describe, expect, it } from 'vitest'
import { createLimits } from '../../core/collections/limits.ts'
import { createRateLimit } from './rate-limit.ts'

function create() {
  let now = 0
  const budget = createRateLimit(createLimits({ monotonic: () => now }), 'proof')
  return {
    budget,
    pass: (ms: number) => {
      now += ms
    },
    /** How many of `count` proofs get in. */
    spend: async (address: string, request: (index: number) => string, count: number, wasUseful = false) => {
      let entered = 0
      for (let index = 0; index < count; index += 1) {
        const visit = await budget.enter(address, request(index))
        visit?.leave(wasUseful)
        if (visit) entered += 1
      }
      return entered
    },
  }
}

describe('T127, T128: the budget', () => {
  it('gives an address thirty proofs that lead nowhere, then one every two seconds', async () => {
    const { spend, pass } = create()
    const any = (index: number) => `request-${index}`
    expect(await spend('a', any, 500)).toBe(30)
    pass(2_000)
    expect(await spend('a', any, 500)).toBe(1)
    pass(3_600_000)
    expect(await spend('a', any, 500)).toBe(30)
  })

  it('gives one requestId five, and leaves the address to others', async () => {
    const { spend, pass } = create()
    expect(await spend('a', () => 'one', 100)).toBe(5)
    expect(await spend('a', () => 'two', 1)).toBe(1)
    pass(5_000)
    expect(await spend('a', () => 'one', 100)).toBe(1)
  })

  it('does not lock out the payer of a requestId that another client exhausts', async () => {
    const { spend } = create()
    expect(await spend('thief', () => 'one', 100)).toBe(5)
    expect(await spend('payer', () => 'one', 1)).toBe(1)
  })

  it('costs nothing while proofs lead somewhere', async () => {
    const { spend } = create()
    expect(await spend('a', () => 'one', 1_000, true)).toBe(1_000)
  })

  it('lets sixty-four of an address wait at once', async () => {
    const { budget } = create()
    const visits = await Promise.all(Array.from({ length: 80 }, (_, index) => budget.enter('a', `${index}`)))
    expect(visits.filter(Boolean)).toHaveLength(64)
    visits[0]?.leave(true)
    expect(await budget.enter('a', 'again')).toBeDefined()
  })

  it('refuses no client without a known address, and doubts all of them', async () => {
    const { budget, spend } = create()
    expect(await spend('unknown', () => 'one', 1_000)).toBe(1_000)
    expect((await budget.enter('unknown', 'one'))?.isDoubtful).toBe(true)
  })

  it('T129: forgets only the least recently used address', async () => {
    const { spend } = create()
    expect(await spend('first', (index) => `${index}`, 100)).toBe(30)
    for (let index = 0; index < 9_999; index += 1) await spend(`other-${index}`, () => 'one', 1)
    expect(await spend('first', () => 'another', 1)).toBe(0)
    for (let index = 0; index < 10_000; index += 1) await spend(`more-${index}`, () => 'one', 1)
    expect(await spend('first', () => 'another', 1)).toBe(1)
  })

  it('doubts clients that named payments that do not exist', async () => {
    const { budget, spend, pass } = create()
    expect((await budget.enter('a', 'one'))?.isDoubtful).toBe(false)
    await spend('a', () => 'one', 1)
    expect((await budget.enter('a', 'two'))?.isDoubtful).toBe(true)
    pass(2_000)
    expect((await budget.enter('a', 'three'))?.isDoubtful).toBe(false)
  })
})
