import { expect, it } from 'vitest'
import { localnetMints } from '../../core/money/tokens.ts'
import { computeNeededLamports } from './balances.ts'

const mint = localnetMints.USDC

it.each([
  ['tokens: fees and minimum', mint, {}, 905_880n],
  ['tokens with a new account: fees, rent and minimum', mint, { createAccount: true }, 2_945_160n],
  ['tokens with a sponsor: nothing', mint, { isSponsored: true }, 0n],
  ['SOL: fees, price and minimum', undefined, {}, 906_880n],
  ['SOL with a sponsor: price and minimum', undefined, { isSponsored: true }, 891_880n],
])('a wallet that pays in %s', (_, mint, more, needed) => {
  expect(computeNeededLamports(mint, 1_000n, more)).toBe(needed)
})
