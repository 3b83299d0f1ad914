import { expect, it } from 'vitest'
import { localnetMints } from '../../core/money/tokens.ts'
import { computeNeededLamports } from './balances.ts'

const mint = localnetMints.USDC

it.each([
  ['tokens: the fees', { mint, units: 1_000n, createAccount: false }, 15_000n],
  ['tokens with a new account: fees, rent and minimum', { mint, units: 1_000n, createAccount: true }, 2_945_160n],
  ['SOL: fees, price and minimum', { mint: undefined, units: 1_000n, createAccount: false }, 906_880n],
])('a wallet that pays in %s', (_, { mint, units, createAccount }, needed) => {
  expect(computeNeededLamports(mint, units, createAccount)).toBe(needed)
})
