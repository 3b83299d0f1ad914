import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'
import type { ProviderOptions } from './options.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const local = { price: 0.01, token: 'USDC', network: 'localnet', recipient } as const
const read = (options: object, environment = {}) =>
  readConfig({ ...local, ...options } as ProviderOptions, environment).route

describe('the option sponsor', () => {
  it('has limits of its own, and turns MPP on', () => {
    expect(read({ sponsor: true })).toMatchObject({
      sponsor: {
        key: undefined,
        floor: 20_000_000n,
        leastPrice: 20_002n,
        limits: { perDay: 100_000_000n, lostPerDay: 5_000_000n, failuresPerPayer: 3, failuresPerClient: 10 },
      },
      mpp: { push: false },
    })
    expect(read({ sponsor: { key: 'key.json', perDay: '0.5', lostPerDay: 0, floor: 1, minMargin: 0 } })).toMatchObject({
      sponsor: {
        key: 'key.json',
        floor: 1_000_000_000n,
        leastPrice: 0n,
        limits: { perDay: 500_000_000n, lostPerDay: 0n },
      },
    })
    expect(read({}, { PAYSTILE_SPONSOR_KEY: 'key.json' }).sponsor?.key).toBe('key.json')
  })

  it('takes its limits from the option and its key from the environment', () => {
    const environment = { PAYSTILE_SPONSOR_KEY: 'key.json' }
    expect(read({ sponsor: { perDay: 1 } }, environment).sponsor).toMatchObject({
      key: 'key.json',
      limits: { perDay: 1_000_000_000n },
    })
    expect(read({ sponsor: true }, environment).sponsor?.key).toBe('key.json')
    expect(read({ sponsor: { key: 'own.json' } }, environment).sponsor?.key).toBe('own.json')
    expect(read({ sponsor: 'own.json' }, environment).sponsor?.key).toBe('own.json')
  })

  it.each<[object, string]>([
    [{ sponsor: false }, 'sponsor: must be'],
    [{ sponsor: '' }, 'sponsor: must be'],
    [{ sponsor: { perDay: 'much' } }, 'sponsor.perDay: must be an amount of SOL'],
    [{ sponsor: { floor: -1 } }, 'sponsor.floor: must be an amount of SOL'],
    [{ sponsor: { minMargin: -1 } }, 'sponsor'],
    [{ sponsor: { budget: 1 } }, 'sponsor'],
    [{ sponsor: true, network: 'devnet', secret: `1:${'s'.repeat(40)}` }, 'sponsor.key: devnet needs the key'],
    [{ mpp: { pull: true } }, 'mpp'],
    [{ mpp: { header: 'X-Pay' } }, 'mpp'],
    [
      { sponsor: true, acceptedMints: ['USDC', 'NATIVE'], description: 'ü'.repeat(200) },
      'the headers of a 402 would have 4',
    ],
    [{ mpp: true, publicUrl: `http://${'a'.repeat(60)}.example/${'p'.repeat(3000)}`, sponsor: true }, 'shorten'],
    [{ x402: { v2: true } }, 'x402'],
    [{ x402: true, sponsor: undefined }, 'x402'],
    [{ x402: { v1: true }, sponsor: undefined }, 'x402'],
  ])('refuses %j', (options, problem) => {
    expect(() => read(options)).toThrow(problem)
  })

  it('is not needed for MPP, whose payer can pay the fee', () => {
    expect(read({})).toMatchObject({ sponsor: undefined, mpp: undefined })
    expect(read({ mpp: true })).toMatchObject({ sponsor: undefined, mpp: { push: false } })
    expect(read({ sponsor: true, mpp: false }).mpp).toBeUndefined()
    expect(read({ mpp: { push: true } }).mpp).toEqual({ push: true })
    const header = 'Payment-Authorization'
    expect(read({ mpp: { header } }).mpp).toEqual({ push: false, header })
  })

  it('turns x402 on, and its first version only on request', () => {
    expect(read({}).x402).toBeUndefined()
    expect(read({ x402: false }).x402).toBeUndefined()
    expect(read({ sponsor: true }).x402).toEqual({ v1: false })
    expect(read({ sponsor: true, x402: true }).x402).toEqual({ v1: false })
    expect(read({ sponsor: true, x402: { v1: true } }).x402).toEqual({ v1: true })
    expect(read({ sponsor: true, x402: false }).x402).toBeUndefined()
  })
})
