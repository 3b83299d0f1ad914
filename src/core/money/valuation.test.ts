import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { knownCodes } from './tokens.ts'
import { computeValue } from './valuation.ts'

const rates = { NATIVE: '0.1', USDC: '1', SOL: '150' }

describe('the worth of a payment', () => {
  it.each([
    ['in the report token is the amount itself', 'USDC', 10_000n, 6, 'USDC', {}, 10_000_000_000n],
    ['in another goes by both rates', 'SOL', 1n, 9, 'USDC', rates, 150_000n],
    ['may be reported in any token', 'USDC', 1_000_000n, 6, 'NATIVE', rates, 10_000_000_000_000n],
    ['drops what is below the smallest unit', 'USDC', 1n, 6, 'SOL', rates, 6_666n],
    ['is not known without a rate', 'NATIVE', 1n, 9, 'USDC', { USDC: '1' }, undefined],
    ['is not known without a rate of the report token', 'USDC', 1n, 6, 'SOL', { USDC: '1' }, undefined],
    ['of a trillion is believed', 'USDC', 10n ** 18n, 6, 'USDC', {}, 10n ** 24n],
    ['of more is not known: some rate is wrong', 'USDC', 10n ** 18n + 1n, 6, 'USDC', {}, undefined],
    ['of a token finer than the unit is cut', 'NATIVE', 10n ** 18n, 18, 'NATIVE', {}, 10n ** 12n],
  ] as const)('%s', (_name, token, units, decimals, report, table, expected) => {
    expect(computeValue({ token, units, decimals }, report, table)).toBe(expected)
  })

  it('never adds up to more than the worth of the sum, and to less by under one unit each', () => {
    const parts = fc.array(fc.bigInt(0n, 2n ** 53n), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(parts, fc.constantFrom(...knownCodes), (all, report) => {
        const worth = (units: bigint) => computeValue({ token: 'SOL', units, decimals: 9 }, report, rates) ?? 0n
        const lost = worth(all.reduce((sum, one) => sum + one, 0n)) - all.map(worth).reduce((sum, one) => sum + one, 0n)
        return lost >= 0n && lost < BigInt(all.length)
      }),
    )
  })
})
