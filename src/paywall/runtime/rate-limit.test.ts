import { describe, expect, it } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

function create() {
  let now = 0
  const budget = createRateLimit({ now: () => now, monotonic: () => now })
  return {
    budget,
    pass: (ms: number) => {
      now += ms
    },
    /** How many of `count` proofs get in. */
    spend: (address: string, request: (index: number) => string, count: number, wasUseful = false): number => {
      let entered = 0
      for (let index = 0; index < count; index += 1) {
        const visit = budget.enter(address, request(index))
        visit?.leave(wasUseful)
        if (visit) entered += 1
      }
      return entered
    },
  }
}

describe('T127, T128: the budget', () => {
  it('gives an address thirty proofs that lead nowhere, then one every two seconds', () => {
    const { spend, pass } = create()
    const any = (index: number) => `request-${index}`
    expect(spend('a', any, 500)).toBe(30)
    pass(2_000)
    expect(spend('a', any, 500)).toBe(1)
    pass(3_600_000)
    expect(spend('a', any, 500)).toBe(30)
  })

  it('gives one requestId five, and leaves the address to others', () => {
    const { spend, pass } = create()
    expect(spend('a', () => 'one', 100)).toBe(5)
    expect(spend('a', () => 'two', 1)).toBe(1)
    pass(5_000)
    expect(spend('a', () => 'one', 100)).toBe(1)
  })

  it('does not lock out the payer of a requestId that another client exhausts', () => {
    const { spend } = create()
    expect(spend('thief', () => 'one', 100)).toBe(5)
    expect(spend('payer', () => 'one', 1)).toBe(1)
  })

  it('costs nothing while proofs lead somewhere', () => {
    const { spend } = create()
    expect(spend('a', () => 'one', 1_000, true)).toBe(1_000)
  })

  it('lets sixty-four of an address wait at once', () => {
    const { budget } = create()
    const visits = Array.from({ length: 80 }, (_, index) => budget.enter('a', `${index}`))
    expect(visits.filter(Boolean)).toHaveLength(64)
    visits[0]?.leave(true)
    expect(budget.enter('a', 'again')).toBeDefined()
  })

  it('refuses no client without a known address, and doubts all of them', () => {
    const { budget, spend } = create()
    expect(spend('unknown', () => 'one', 1_000)).toBe(1_000)
    expect(budget.enter('unknown', 'one')?.isDoubtful).toBe(true)
  })

  it('T129: forgets only the least recently used address', () => {
    const { spend } = create()
    expect(spend('first', (index) => `${index}`, 100)).toBe(30)
    for (let index = 0; index < 9_999; index += 1) spend(`other-${index}`, () => 'one', 1)
    expect(spend('first', () => 'another', 1)).toBe(0)
    for (let index = 0; index < 10_000; index += 1) spend(`more-${index}`, () => 'one', 1)
    expect(spend('first', () => 'another', 1)).toBe(1)
  })

  it('doubts clients that named payments that do not exist', () => {
    const { budget, spend, pass } = create()
    expect(budget.enter('a', 'one')?.isDoubtful).toBe(false)
    spend('a', () => 'one', 1)
    expect(budget.enter('a', 'two')?.isDoubtful).toBe(true)
    pass(2_000)
    expect(budget.enter('a', 'three')?.isDoubtful).toBe(false)
  })
})
