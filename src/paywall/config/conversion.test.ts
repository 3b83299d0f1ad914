import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { readConfig } from './config.ts'
import type { ProviderOptions } from './options.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const desk = { kind: 'rfq', url: 'http://127.0.0.1:8403' } as const
const local: ProviderOptions = {
  price: 0.01,
  token: 'USDC',
  recipient,
  network: 'localnet',
  acceptedMints: ['USDC', 'SOL', 'NATIVE'],
  settlementToken: 'USDC',
  autoConversion: true,
}
const live: ProviderOptions = {
  ...local,
  network: 'mainnet',
  acceptedMints: ['USDC', 'SOL'],
  secret: '1:a-test-secret-of-at-least-32-characters',
  rpc: 'https://node.example',
  rates: 'pyth',
}

function problemsOf(options: unknown, environment = {}): readonly string[] {
  try {
    readConfig(options as ProviderOptions, environment)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}
const conversionOf = (options: ProviderOptions, environment = {}) => readConfig(options, environment).route.conversion

describe('the options of conversion', () => {
  it('name the tokens, the thresholds and the reserves', () => {
    const conversionThreshold = { SOL: 1.5, NATIVE: '0.000000001' }
    expect(conversionOf({ ...local, conversionThreshold })).toEqual({
      rules: {
        settlementToken: 'USDC',
        tokens: ['SOL', 'NATIVE'],
        thresholds: { SOL: 1_500_000_000n, NATIVE: 1n },
        keeps: { SOL: 50_000_000n },
        slippageBps: 50,
        maxDeviationBps: 200,
      },
      key: undefined,
      venue: undefined,
    })
  })

  it('may keep more, or no SOL at all', () => {
    const conversionReserve = { SOL: 0, NATIVE: 100 }
    expect(conversionOf({ ...local, conversionReserve })?.rules.keeps).toEqual({ SOL: 0n, NATIVE: 100_000_000_000n })
  })

  it('are nothing where nothing is to be converted', () => {
    expect(conversionOf({ ...local, autoConversion: false })).toBeUndefined()
    expect(conversionOf({ ...local, acceptedMints: ['USDC'] })).toBeUndefined()
  })

  it('name the venue with its limits, and the key', () => {
    const venue = { ...desk, slippageBps: 0, maxDeviationBps: 500 }
    expect(conversionOf({ ...local, settlementKey: './key.json', venue })).toMatchObject({
      rules: { slippageBps: 0, maxDeviationBps: 500 },
      key: './key.json',
      venue: desk,
    })
  })

  it('take the key from the environment as well', () => {
    const environment = { PAYSTILE_SETTLEMENT_KEY: './key.json' }
    expect(conversionOf({ ...local, venue: desk }, environment)?.key).toBe('./key.json')
  })

  it('trade at Jupiter on mainnet, unless a desk is named', () => {
    const settlementKey = './key.json'
    const venue = { kind: 'jupiter', url: undefined, apiKey: undefined }
    expect(conversionOf({ ...live, settlementKey })?.venue).toEqual(venue)
    expect(conversionOf({ ...live, settlementKey, venue: { kind: 'jupiter', apiKey: 'k3y' } })?.venue).toEqual({
      ...venue,
      apiKey: 'k3y',
    })
    expect(conversionOf({ ...live, settlementKey, venue: desk })?.venue).toEqual(desk)
    const own = { kind: 'jupiter', url: 'http://127.0.0.1:1' } as const
    expect(conversionOf({ ...local, settlementKey, venue: own })?.venue).toEqual({ ...own, apiKey: undefined })
  })

  it.each<readonly [string, object, string]>([
    ['without a token to end up with', { settlementToken: undefined }, 'autoConversion: needs settlementToken'],
    ['a key without a desk on a test network', { settlementKey: 'k' }, 'venue: localnet needs a desk'],
    [
      'Jupiter on a test network',
      { settlementKey: 'k', venue: { kind: 'jupiter' } },
      'venue: Jupiter trades on mainnet only',
    ],
    [
      'a threshold of nothing',
      { conversionThreshold: { SOL: 0 } },
      'conversionThreshold.SOL: must be a number or decimal text above zero',
    ],
    [
      'a threshold finer than the token',
      { conversionThreshold: { USDC: '0.0000001' } },
      'conversionThreshold.USDC: must be a number or decimal text above zero, with at most 6',
    ],
    [
      'a threshold of another token',
      { conversionThreshold: { BTC: 1 } },
      'conversionThreshold.BTC: BTC is not a token of this service',
    ],
    [
      'a negative reserve',
      { conversionReserve: { SOL: -1 } },
      'conversionReserve.SOL: must be a number or decimal text of zero or more',
    ],
    ['a venue nobody knows', { venue: { kind: 'bank' } }, "venue.kind: must be { kind: 'rfq', url }"],
    ['a desk nowhere', { venue: { kind: 'rfq' } }, 'venue.url: '],
    ['a desk that is no address', { venue: { kind: 'rfq', url: 'x' } }, 'venue.url: must be an http or https URL'],
    [
      'slippage of more than half',
      { venue: { ...desk, slippageBps: 5_001 } },
      'venue.slippageBps: must be at most 5000',
    ],
    ['slippage in fractions', { venue: { ...desk, slippageBps: 0.5 } }, 'venue.slippageBps: must be a whole number'],
    ['a name that is none', { venue: { ...desk, slipageBps: 5 } }, 'venue.slipageBps: is not an option'],
    ['a key that is none', { settlementKey: 7 }, 'settlementKey: must be the path of a key file'],
  ])('are refused: %s', (_name, more, problem) => {
    expect(problemsOf({ ...local, ...more }).join('\n')).toContain(problem)
  })

  it('are refused on mainnet without rates that follow the market, where this process converts', () => {
    const rates = { SOL: '150' }
    expect(problemsOf({ ...live, rates })).toEqual([])
    expect(problemsOf({ ...live, rates, settlementKey: 'k' }).join()).toContain('rates: conversion needs a source')
  })

  it('never show a key, or the address of a venue', () => {
    const wrong = { settlementKey: [1, 2, 3], venue: { kind: 'jupiter', url: 'ftp://k3y@x', apiKey: 'k 3y' } }
    const text = problemsOf({ ...local, ...wrong }).join()
    expect(text).toContain('venue.apiKey: must be printable characters')
    expect(text).not.toMatch(/k3y|k 3y|1, ?2/)
  })
})
