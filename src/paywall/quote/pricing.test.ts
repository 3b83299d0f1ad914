import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { computePriceOfBytes, megabyte } from '../../core/money/price.ts'
import { oneRequest } from '../../core/payment/allowance.ts'
import type { PricedRequest } from '../config/binding.ts'
import { readConfig } from '../config/config.ts'
import type { ProviderOptions } from '../config/options.ts'
import type { Pricing } from '../config/pricing.ts'
import { createRoutePricing } from './pricing.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const usual = { price: 0.01, token: 'USDC', network: 'localnet', recipient }
const bare = { kind: 'bare' } as const
const request = { method: 'GET', path: '/a' } as PricedRequest

const readRoute = (options: object) => readConfig({ ...usual, ...options } as ProviderOptions, {}).route
const read = (options: object): Pricing => readRoute(options).pricing
const dealOf = (options: object, bytes?: bigint) => {
  const { fixedDeal, askDeal } = createRoutePricing(read(options))
  const accept = { ...bare, ...(bytes !== undefined && { bytes }) }
  return fixedDeal ? fixedDeal(accept) : askDeal(accept, request)
}

describe('a deal', () => {
  it.each<[object, unknown]>([
    [{}, { price: 10_000n, allowance: oneRequest }],
    [{ per: 'request' }, { price: 10_000n, allowance: oneRequest }],
    [{ per: { requests: 100 } }, { price: 10_000n, allowance: { unit: 'request', amount: 100n } }],
    [{ per: { requests: 1 } }, { price: 10_000n, allowance: oneRequest }],
    [{ per: { seconds: 60 } }, { price: 10_000n, allowance: { unit: 'second', amount: 60n } }],
    [{ per: 'minute' }, { price: 10_000n, allowance: { unit: 'second', amount: 60n } }],
    [{ per: 'hour' }, { price: 10_000n, allowance: { unit: 'second', amount: 3_600n } }],
    [{ per: 'day' }, { price: 10_000n, allowance: { unit: 'second', amount: 86_400n } }],
    [{ per: 'megabyte' }, { price: 10_000n, allowance: { unit: 'byte', amount: 1_000_000n } }],
    [
      { per: 'megabyte', prepay: 2.5 },
      { price: 25_000n, allowance: { unit: 'byte', amount: 2_500_000n } },
    ],
    [
      { per: 'megabyte', size: 10_000_000 },
      { price: 100_000n, allowance: { unit: 'file', amount: 10_000_000n } },
    ],
    [
      { per: 'megabyte', size: 1 },
      { price: 1n, allowance: { unit: 'file', amount: 1n } },
    ],
    [
      { per: 'megabyte', size: () => 0 },
      { price: 1n, allowance: { unit: 'file', amount: 1n } },
    ],
    [
      { per: 'megabyte', size: () => undefined },
      { price: 10_000n, allowance: { unit: 'byte', amount: 1_000_000n } },
    ],
    [{ price: () => 0.05 + 0.002 }, { price: 52_000n, allowance: oneRequest }],
    [{ price: () => 0.1 + 0.2 }, { price: 300_000n, allowance: oneRequest }],
    [{ price: () => 123456.789012 }, { price: 123_456_789_012n, allowance: oneRequest }],
    [{ price: () => '0.5' }, { price: 500_000n, allowance: oneRequest }],
    [
      { price: async () => 1, per: 'megabyte', size: 500_000 },
      { price: 500_000n, allowance: { unit: 'file', amount: 500_000n } },
    ],
  ])('of %j', async (options, deal) => {
    expect(await dealOf(options)).toEqual(deal)
  })

  it('is for as many bytes as the client asks for, where bytes are sold ahead', async () => {
    expect(dealOf({ per: 'megabyte' }, 5_000_000n)).toEqual({
      price: 50_000n,
      allowance: { unit: 'byte', amount: 5_000_000n },
    })
    expect(dealOf({ per: 'megabyte', size: 7 }, 5_000_000n)).toMatchObject({ allowance: { unit: 'file', amount: 7n } })
    expect(dealOf({}, 5_000_000n)).toMatchObject({ allowance: oneRequest })
  })

  it.each([
    ['nothing', undefined],
    ['zero', 0],
    ['less than zero', -1],
    ['too fine', 0.00000001],
    ['no number', Number.NaN],
    ['an object', {}],
  ])('is refused where the function answers %s', async (_name, answer) => {
    await expect(dealOf({ price: () => answer })).rejects.toThrow('price: the function')
  })

  it.each([[-1], [1.5], [Number.NaN], ['12'], [null], [2 ** 60]])('is refused for a size of %s', async (answer) => {
    await expect(dealOf({ per: 'megabyte', size: () => answer })).rejects.toThrow('size: the function')
  })

  it.each([
    ['price', { price: () => new Promise<number>(() => {}) }],
    ['size', { per: 'megabyte', size: () => new Promise<number>(() => {}) }],
  ])('does not wait for a %s that never comes', async (_name, options) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const refused = expect(dealOf(options)).rejects.toThrow('took longer than ten seconds')
    await vi.advanceTimersByTimeAsync(10_000)
    await refused
  })

  it('never costs nothing, nor a whole unit too much', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 12n), fc.bigInt(1n, 10n ** 13n), (perMegabyte, bytes) => {
        const price = computePriceOfBytes(perMegabyte, bytes)
        expect(price).toBeGreaterThan(0n)
        expect(price * megabyte).toBeGreaterThanOrEqual(perMegabyte * bytes)
        expect((price - 1n) * megabyte).toBeLessThan(perMegabyte * bytes)
      }),
    )
  })
})

describe('the options of a price', () => {
  it.each<[object, string]>([
    [{ per: 'week' }, 'per: must be'],
    [{ per: null }, 'per: must be'],
    [{ per: {} }, 'per: must be'],
    [{ per: { minutes: 1 } }, 'per: must be'],
    [{ per: { seconds: 1, requests: 1 } }, 'per: must be'],
    [{ per: { seconds: 0 } }, 'per.seconds: must be a whole number'],
    [{ per: { seconds: '60' } }, 'per.seconds: must be a whole number'],
    [{ per: { requests: 1.5 } }, 'per.requests: must be a whole number'],
    [{ per: { requests: 2e9 } }, 'per.requests: must be a whole number'],
    [{ size: 5 }, "size: works only with per: 'megabyte'"],
    [{ per: { requests: 5 }, prepay: 1 }, "prepay: works only with per: 'megabyte'"],
    [{ per: 'megabyte', prepay: 0 }, 'prepay: must be a number of megabytes'],
    [{ per: 'megabyte', prepay: '1' }, 'prepay: must be a number of megabytes'],
    [{ per: 'megabyte', size: 0 }, 'size: must be a whole number of bytes'],
    [{ per: 'megabyte', size: 'large' }, 'size: must be a whole number of bytes'],
    [{ per: 'megabyte', envelope: 'verified' }, 'envelope: does not work with'],
    [{ price: () => 1, per: { requests: 5 } }, 'price: a function works with'],
    [{ price: () => 1, per: { seconds: 5 } }, 'price: a function works with'],
    [{ price: () => 1, per: 'megabyte' }, 'price: a function works with'],
    [{ token: 'NATIVE', network: 'mainnet' }, 'mints.NATIVE: NATIVE has no mint'],
  ])('refuses %j', (options, problem) => {
    expect(() => readRoute(options)).toThrow(problem)
  })
})

describe('the option free', () => {
  it.each([
    [
      { requests: 5, per: 'day' },
      { requests: 5, seconds: 86_400 },
    ],
    [
      { requests: 1, per: 'minute' },
      { requests: 1, seconds: 60 },
    ],
    [
      { requests: 1, per: 'hour' },
      { requests: 1, seconds: 3_600 },
    ],
    [
      { requests: 1, per: { seconds: 10 } },
      { requests: 1, seconds: 10 },
    ],
    [undefined, undefined],
  ])('%j', (free, quota) => {
    expect(readRoute({ free }).free).toEqual(quota)
  })

  it.each([
    [5, 'free: must be { requests, per }'],
    [{}, 'free.requests'],
    [{ requests: 0, per: 'day' }, 'free.requests'],
    [{ requests: 5 }, 'free.per'],
    [{ requests: 5, per: 'week' }, 'free.per'],
    [{ requests: 5, per: { seconds: 0 } }, 'free.per'],
    [{ requests: 5, per: 'day', burst: 1 }, 'free.burst: is not an option'],
  ])('refuses %j', (free, problem) => {
    expect(() => readRoute({ free })).toThrow(problem)
  })
})
