import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { maxUnits } from './money.ts'
import { convert, testRates } from './rates.ts'
import { convertAll, convertWithSpread } from './spread.ts'
import { knownMints } from './tokens.ts'

const usdc = { token: 'USDC', decimals: 6 } as const
const sol = { token: 'SOL', decimals: 9 } as const

describe('convertWithSpread', () => {
  it('charges the spread on top in another token', () => {
    expect(convertWithSpread({ ...usdc, units: 150_000_000n }, sol, testRates, 0.01)).toBe(1_010_000_000n)
  })

  it('leaves the token of the price exact', () => {
    expect(convertWithSpread({ ...usdc, units: 7n }, usdc, testRates, 0.5)).toBe(7n)
  })

  it('rounds up, so that even one unit costs more', () => {
    expect(convertWithSpread({ ...sol, units: 1n }, usdc, testRates, 0.01)).toBe(2n)
  })

  it('has no answer without a rate, nor beyond 64 bits', () => {
    expect(convertWithSpread({ ...usdc, units: 1n }, sol, { USDC: '1' }, 0.01)).toBeUndefined()
    const rates = { USDC: '1', SOL: '0.001' }
    const most = maxUnits / 1_000_000n
    expect(convert({ ...usdc, units: most }, sol, rates)).toBeLessThanOrEqual(maxUnits)
    expect(convertWithSpread({ ...usdc, units: most }, sol, rates, 0.01)).toBeUndefined()
  })

  it('is the converted amount and the spread of it, up to a unit', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 15n }),
        fc.integer({ min: 0, max: 500_000 }),
        fc.integer({ min: 1, max: 10 ** 9 }),
        (units, parts, rate) => {
          const rates = { USDC: '1', SOL: `${rate}.5` }
          const plain = convert({ ...usdc, units }, sol, rates) ?? 0n
          const got = convertWithSpread({ ...usdc, units }, sol, rates, parts / 1e6) ?? 0n
          const exact = plain * (1_000_000n + BigInt(parts))
          expect(got * 1_000_000n).toBeGreaterThanOrEqual(exact)
          expect((got - 1n) * 1_000_000n).toBeLessThan(exact)
        },
      ),
      { numRuns: size(300, 10_000) },
    )
  })
})

describe('convertAll', () => {
  const price = { ...usdc, units: 1_000_000n }
  const tokens = ['SOL', 'USDC', 'NATIVE'] as const

  it('converts into every token that has a rate', () => {
    const mints = knownMints.localnet
    expect(convertAll(price, tokens, mints, testRates)).toEqual({
      SOL: convert(price, sol, testRates),
      USDC: 1_000_000n,
      NATIVE: convert(price, { token: 'NATIVE', decimals: 9 }, testRates),
    })
    expect(convertAll(price, tokens, mints, { USDC: '1', NATIVE: '0.1' }, 0.01)).toEqual({
      USDC: 1_000_000n,
      NATIVE: 10_100_000_000n,
    })
  })
})
