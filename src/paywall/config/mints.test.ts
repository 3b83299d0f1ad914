import { describe, expect, it } from 'vitest'
import type { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { knownMints, splTokenProgram, token2022Program, wrappedSol } from '../../core/money/tokens.ts'
import { readConfig } from './config.ts'
import type { ProviderOptions } from './options.ts'

const recipient = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'
const [euro, other] = ['HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr', 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB']
const local: ProviderOptions = { price: '0.01', token: 'USDC', recipient, network: 'localnet' }
const EURC = { mint: euro, decimals: 6 }

function problemsOf(options: object): readonly string[] {
  try {
    readConfig({ ...local, ...options } as ProviderOptions, {})
    return []
  } catch (error) {
    return (error as ConfigurationError).problems
  }
}

describe('the option tokens', () => {
  it('adds a token beside the known ones, which can be the token of the price', () => {
    const tokens = { EURC, GOLD: { mint: other, decimals: 9, tokenProgram: token2022Program } }
    const rates = { EURC: '1.08', GOLD: '2700' }
    const accepted = { token: 'EURC', acceptedMints: ['EURC', 'USDC', 'GOLD'], tokens, rates, settlementToken: 'EURC' }
    const { route } = readConfig({ ...local, ...accepted, reportToken: 'EURC' }, {})
    expect(route.mints).toEqual({
      ...knownMints.localnet,
      EURC: { address: euro, decimals: 6, tokenProgram: splTokenProgram },
      GOLD: { address: other, decimals: 9, tokenProgram: token2022Program },
    })
    expect(route.pricing).toMatchObject({ token: 'EURC', price: 10_000n, decimals: 6 })
    expect(route.acceptedMints).toEqual(['EURC', 'USDC', 'GOLD'])
  })

  it('has fixed rates, feeds and thresholds of its own', () => {
    const feeds = { EURC: 'ab'.repeat(32) }
    expect(problemsOf({ tokens: { EURC }, rates: { source: 'pyth', feeds } })).toEqual([])
    const conversion = { settlementToken: 'USDC', conversionThreshold: { EURC: '5.5' } }
    expect(problemsOf({ tokens: { EURC }, rates: { EURC: 1.08 }, ...conversion })).toEqual([])
  })

  it('replaces no known token, but mints.USDC does on test networks', () => {
    const circle = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'
    const devnet = { ...local, network: 'devnet', secret: `1:${'s'.repeat(43)}` } as const
    const { route } = readConfig({ ...devnet, mints: { USDC: circle } }, {})
    expect(route.mints.USDC).toEqual({ address: circle, decimals: 6, tokenProgram: splTokenProgram })
  })

  const usdc = knownMints.localnet.USDC?.address
  it.each([
    ['the code of a known token', { USDC: EURC }, 'tokens.USDC: USDC is a known token; set its mint as mints.USDC'],
    ['the code SOL', { SOL: EURC }, 'tokens.SOL: SOL has no mint; choose another code'],
    ['a code in small letters', { eurc: EURC }, 'tokens.eurc: the code must be 2 to 10 capital letters and digits'],
    ['a code of one letter', { E: EURC }, 'tokens.E: the code must be 2 to 10'],
    ['a long code', { ABCDEFGHIJK: EURC }, 'tokens.ABCDEFGHIJK: the code must be 2 to 10'],
    ['the mint of a known token', { EURC: { ...EURC, mint: usdc } }, 'tokens.EURC.mint: is already the mint of USDC'],
    [
      'one mint under two codes',
      { EURC, EUR: EURC },
      'tokens.EUR.mint: is already the mint of EURC; a mint has one code',
    ],
    [
      'wrapped SOL',
      { WSOL: { mint: wrappedSol, decimals: 9 } },
      'tokens.WSOL.mint: is wrapped SOL; accept SOL instead',
    ],
    ['no decimals', { EURC: { mint: euro } }, 'tokens.EURC.decimals: is missing'],
    ['no mint', { EURC: { decimals: 6 } }, 'tokens.EURC.mint: is missing'],
    [
      'a mistyped part',
      { EURC: { ...EURC, decimal: 6 } },
      'tokens.EURC.decimal: is not an option; did you mean decimals?',
    ],
    ['another program', { EURC: { ...EURC, tokenProgram: euro } }, 'must be TokenkegQfe'],
    ['no object', { EURC: euro }, 'tokens.EURC: must be { mint, decimals, tokenProgram, allow }'],
    ['a list', [EURC], 'tokens: must be tokens by code, such as { EURC: { mint, decimals } }'],
    [
      'more than sixteen',
      Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`T${index}`, EURC])),
      'tokens: must be at most 16',
    ],
  ])('refuses %s', (_what, tokens, problem) => {
    expect(problemsOf({ tokens }).join('\n')).toContain(problem)
  })

  it.each([
    ['token', { token: 'EURO' }, 'token: EURO is not a token of this service; use NATIVE, USDC, SOL, EURC'],
    ['acceptedMints', { acceptedMints: ['USDC', 'EURO'] }, 'acceptedMints: EURO is not a token of this service'],
    ['settlementToken', { settlementToken: 'EURO' }, 'settlementToken: EURO is not a token'],
    [
      'settlementToken that is not accepted',
      { settlementToken: 'EURC', autoConversion: true },
      'settlementToken: add EURC to acceptedMints, so that its mint is checked on chain',
    ],
    [
      'a conversion without a rate',
      { token: 'EURC', settlementToken: 'USDC', autoConversion: true },
      'rates.EURC: conversion of EURC needs its rate',
    ],
    ['reportToken', { reportToken: 'EURO' }, 'reportToken: EURO is not a token'],
    ['conversionThreshold', { conversionThreshold: { EURO: 1 } }, 'conversionThreshold.EURO: EURO is not a token'],
    ['rates', { rates: { EURO: 1 } }, 'rates.EURO: is not an option; did you mean EURC?'],
    ['a token without a rate', { acceptedMints: ['USDC', 'EURC'] }, 'rates.EURC: EURC is accepted for a price in USDC'],
  ])('an unknown code in %s is refused', (_option, more, problem) => {
    expect(problemsOf({ tokens: { EURC }, ...more }).join('\n')).toContain(problem)
  })
})
