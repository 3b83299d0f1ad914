import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { maxUnits } from './money.ts'
import { convert, estimateDollars, parseRate, testRates } from './rates.ts'

const usdc = { token: 'USDC', decimals: 6 } as const
const sol = { token: 'SOL', decimals: 9 } as const

describe('convert', () => {
  it('turns a price into another token by their worth', () => {
    expect(convert({ ...usdc, units: 150_000_000n }, sol, testRates)).toBe(1_000_000_000n)
    expect(convert({ ...sol, units: 1_000_000_000n }, usdc, testRates)).toBe(150_000_000n)
  })

  it('rounds up, so that no price becomes zero', () => {
    expect(convert({ ...sol, units: 1n }, usdc, testRates)).toBe(1n)
  })

  it('has no answer without both rates', () => {
    expect(convert({ ...usdc, units: 1n }, sol, { USDC: '1' })).toBeUndefined()
    expect(convert({ ...usdc, units: 1n }, sol, { USDC: '1', SOL: '0' })).toBeUndefined()
  })

  it('never asks for less than the price is worth, nor for a whole unit more', () => {
    const rate = fc
      .bigInt({ min: 1n, max: 10n ** 15n })
      .map((n) => `${n / 10n ** 6n}.${String(n % 10n ** 6n).padStart(6, '0')}`)
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n }), rate, rate, (units, from, to) => {
        const [fromRate, toRate] = [parseRate(from) ?? 0n, parseRate(to) ?? 0n]
        const got = convert({ ...usdc, units }, sol, { USDC: from, SOL: to })
        const worth = units * fromRate * 1000n
        if (got === undefined) {
          expect((worth + toRate - 1n) / toRate).toBeGreaterThan(maxUnits)
          return
        }
        expect(got * toRate).toBeGreaterThanOrEqual(worth)
        expect((got - 1n) * toRate).toBeLessThan(worth)
      }),
      { numRuns: size(300, 10_000) },
    )
  })
})

describe('the approximate value in dollars', () => {
  it.each([
    [1_000_000_000n, '150', '150'],
    [1_234_567_890n, '150', '185.19'],
    [66_556n, '150', '0.01'],
    [99_999n, '150', '0.015'],
    [1n, '150', '0.00000015'],
    [1n, '0.0001', undefined],
    [1_000_000_000n, '0.999999', '1'],
    [maxUnits, '150', '2767011611056.43'],
  ])('of %d lamports at %s is %s', (units, rate, dollars) => {
    expect(estimateDollars({ ...sol, units }, { SOL: rate })).toBe(dollars)
  })

  it('is unknown without a rate', () => {
    expect(estimateDollars({ ...sol, units: 5n }, { USDC: '1' })).toBeUndefined()
  })
})
