import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns } from '../../../tests/harness/length.ts'
import { fairUnits } from '../money/rates.ts'
import { type ByToken, knownCodes, type TokenCode } from '../money/tokens.ts'
import {
  type ConversionAbout,
  type ConversionRules,
  type ConversionScene,
  dueConversions,
  formatConversion,
  formatConversionLockKey,
  judgeQuote,
  parseConversion,
  usualConversionLimits,
  usualSolKept,
} from './conversion.ts'

const decimals = { NATIVE: 9, USDC: 6, SOL: 9 }
const rates = { NATIVE: '0.1', USDC: '1', SOL: '150' }
const rules: ConversionRules = {
  settlementToken: 'USDC',
  tokens: knownCodes,
  thresholds: { NATIVE: 5_000_000_000n, SOL: 1_000_000_000n },
  keeps: { SOL: usualSolKept },
  ...usualConversionLimits,
}
const scene: ConversionScene = { balances: {}, rates, decimals, underway: new Set() }
const due = (more: Partial<ConversionScene>, changed: Partial<ConversionRules> = {}) =>
  dueConversions({ ...rules, ...changed }, { ...scene, ...more })

describe('the amount to convert', () => {
  it('is all of a token from its threshold on', () => {
    expect(due({ balances: { NATIVE: 4_999_999_999n } })).toEqual([])
    expect(due({ balances: { NATIVE: 5_000_000_000n } })).toEqual([{ token: 'NATIVE', units: 5_000_000_000n }])
    expect(due({ balances: { NATIVE: 7_000_000_000n } })).toEqual([{ token: 'NATIVE', units: 7_000_000_000n }])
  })

  it('leaves SOL for fees in the wallet, and does not count it', () => {
    expect(due({ balances: { SOL: 1_049_999_999n } })).toEqual([])
    expect(due({ balances: { SOL: 1_050_000_000n } })).toEqual([{ token: 'SOL', units: 1_000_000_000n }])
    expect(due({ balances: { SOL: 10n } })).toEqual([])
  })

  it('is the worth of ten USDC where no threshold is given', () => {
    expect(due({ balances: { NATIVE: 99_999_999_999n } }, { thresholds: {} })).toEqual([])
    expect(due({ balances: { NATIVE: 100_000_000_000n } }, { thresholds: {} })).toHaveLength(1)
    expect(due({ balances: { USDC: 10_000_000n } }, { thresholds: {}, settlementToken: 'SOL' })).toHaveLength(1)
  })

  it('is never the settlement token itself', () => {
    expect(due({ balances: { USDC: 10n ** 15n } }, { thresholds: { USDC: 1n } })).toEqual([])
  })

  it('is only of the tokens that are to be converted', () => {
    const balances = { NATIVE: 10n ** 12n, SOL: 10n ** 12n }
    expect(due({ balances }, { tokens: ['NATIVE', 'USDC'] }).map(({ token }) => token)).toEqual(['NATIVE'])
  })

  it('T157: is nothing of a token of which a conversion is under way', () => {
    const balances = { NATIVE: 10n ** 12n, SOL: 10n ** 12n }
    expect(due({ balances, underway: new Set(['NATIVE']) }).map(({ token }) => token)).toEqual(['SOL'])
  })

  it('is nothing without a fresh rate for both', () => {
    const balances = { NATIVE: 10n ** 12n }
    expect(due({ balances, rates: { USDC: '1' } })).toEqual([])
    expect(due({ balances, rates: { NATIVE: '0.1' } })).toEqual([])
  })

  it('is zero for a token without a mint, or beyond the range of the chain', () => {
    expect(due({ balances: { NATIVE: 10n ** 12n }, decimals: { USDC: 6, SOL: 9 } })).toEqual([])
    expect(due({ balances: { NATIVE: 2n ** 64n } })).toEqual([])
  })
})

describe('a quote', () => {
  const judge = (units: bigint, fair: bigint | undefined, least = units) =>
    judgeQuote({ units, least }, fair, usualConversionLimits)

  it('may be two per cent worse than the rate, to the unit, and as much better as it likes', () => {
    expect(judge(980_000n, 1_000_000n)).toEqual({ kind: 'fair', minimum: 975_100n })
    expect(judge(979_999n, 1_000_000n)).toEqual({ kind: 'unfair', why: 'the quote is 2.00 % worse than the rate' })
    expect(judge(969_500n, 1_000_000n)).toEqual({ kind: 'unfair', why: 'the quote is 3.05 % worse than the rate' })
    expect(judge(5_000_000n, 1_000_000n)).toMatchObject({ kind: 'fair' })
  })

  it('must promise at least the rate minus the slippage, to the unit', () => {
    expect(judge(1_000_000n, 1_000_000n, 995_000n)).toEqual({ kind: 'fair', minimum: 995_000n })
    expect(judge(1_000_000n, 1_000_000n, 994_999n)).toMatchObject({ kind: 'unfair' })
    expect(judge(1n, 1n)).toEqual({ kind: 'fair', minimum: 1n })
  })

  it('is nothing without a rate, or for nothing', () => {
    expect(judge(1_000_000n, undefined)).toMatchObject({ kind: 'unfair' })
    expect(judge(0n, 1n)).toMatchObject({ kind: 'unfair' })
    expect(judge(5n, 0n)).toMatchObject({ kind: 'unfair' })
  })
})

describe('for any balances, rates and limits', () => {
  const units = fc.bigInt({ min: 0n, max: 2n ** 64n })
  const rate = fc
    .bigInt({ min: 1n, max: 10n ** 15n })
    .map((value) => `${value / 10n ** 6n}.${(value % 10n ** 6n).toString().padStart(6, '0')}`)
  const perToken = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<ByToken<Value>> =>
    fc.record({ NATIVE: value, USDC: value, SOL: value }, { requiredKeys: [] })
  const someRules = fc.record({
    settlementToken: fc.constantFrom<TokenCode>(...knownCodes),
    tokens: fc.subarray([...knownCodes]),
    thresholds: perToken(units),
    keeps: perToken(units),
    slippageBps: fc.integer({ min: 0, max: 5_000 }),
    maxDeviationBps: fc.integer({ min: 0, max: 5_000 }),
  })
  const someScene = fc.record({
    balances: perToken(units),
    rates: perToken(rate),
    decimals: fc.constant(decimals),
    underway: fc.subarray([...knownCodes]).map((tokens): ReadonlySet<TokenCode> => new Set(tokens)),
  })

  it('never sells more than the balance above the reserve, nor less than the threshold', () => {
    fc.assert(
      fc.property(someRules, someScene, (anyRules, anyScene) => {
        for (const { token, units: sold } of dueConversions(anyRules, anyScene)) {
          expect(token).not.toBe(anyRules.settlementToken)
          expect(anyRules.tokens).toContain(token)
          expect(anyScene.underway.has(token)).toBe(false)
          expect(sold > 0n).toBe(true)
          expect(sold + (anyRules.keeps[token] ?? 0n)).toBe(anyScene.balances[token])
          expect(sold >= (anyRules.thresholds[token] ?? 0n)).toBe(true)
          expect(anyScene.rates[token]).toBeDefined()
          expect(anyScene.rates[anyRules.settlementToken]).toBeDefined()
        }
      }),
      { numRuns: fuzzRuns },
    )
  })

  it('the minimum to receive is never below the rate by more than both limits together', () => {
    fc.assert(
      fc.property(someRules, someScene, units, units, (anyRules, anyScene, sold, quoted) => {
        const fair = fairUnits({ token: 'NATIVE', units: sold }, 'USDC', anyScene)
        const pricing = judgeQuote({ units: quoted, least: quoted }, fair, anyRules)
        if (pricing.kind !== 'fair' || fair === undefined) return
        const { slippageBps, maxDeviationBps } = anyRules
        const bound = fair * BigInt(10_000 - maxDeviationBps) * BigInt(10_000 - slippageBps)
        expect((pricing.minimum + 1n) * 10n ** 8n > bound).toBe(true)
        expect(pricing.minimum > 0n && pricing.minimum <= quoted).toBe(true)
      }),
      { numRuns: fuzzRuns },
    )
  })
})

describe('the description of a conversion', () => {
  const about: ConversionAbout = {
    wallet: 'w',
    sell: 'SOL',
    buy: 'USDC',
    venue: 'rfq',
    units: 10n ** 18n,
    quoted: 5n,
    minimum: 4n,
  }

  it('is read as it was written, before and after it landed', () => {
    expect(parseConversion(formatConversion(about))).toEqual(about)
    const landed = { ...about, sold: 10n ** 18n, received: 5n }
    expect(parseConversion(formatConversion(landed))).toEqual(landed)
  })

  it.each(['', '{}', 'null', '[]', '7', '{"wallet":1}', formatConversion({ ...about, sell: 'btc' })])(
    'is nothing in %j',
    (text) => {
      expect(parseConversion(text)).toBeUndefined()
    },
  )

  it('has the lock key of its wallet and token', () => {
    expect(formatConversionLockKey('w', 'SOL')).toBe('convert/w/SOL')
  })
})
