import { describe, expect, it } from 'vitest'
import { createFailureWindow } from './breaker.ts'

/** The payments of five payers fail. Returns whether the route is paused. */
function failFive(window: ReturnType<typeof createFailureWindow>, name: string): boolean {
  const results = [1, 2, 3, 4, 5].map((payer) => window.add(true, { tx: `${name}-${payer}`, payer: `payer-${payer}` }))
  return results.some(Boolean)
}

describe('the failures of a route', () => {
  it('T255: count each payment once, also after they paused the route', () => {
    const window = createFailureWindow()
    expect(failFive(window, 'one')).toBe(true)
    for (let times = 0; times < 5; times += 1) {
      for (let served = 0; served < 20; served += 1) window.add(false, { tx: `good-${served}`, payer: 'other' })
      expect(failFive(window, 'one')).toBe(false)
    }
    expect(failFive(window, 'two')).toBe(true)
  })

  it('T255: are remembered for a limited number of payments', () => {
    const window = createFailureWindow()
    expect(failFive(window, 'one')).toBe(true)
    for (let count = 0; count < 10_000; count += 1) window.add(true, { tx: `later-${count}`, payer: 'one' })
    expect(failFive(window, 'one')).toBe(true)
  })
})
