import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, findAssociatedTokenPda } from '@solana-program/token'
import { expect, it } from 'vitest'
import { splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import { associatedTokenProgram, findTokenAccount } from './programs.ts'

type Address = Parameters<typeof findAssociatedTokenPda>[0]['mint']
const wallet = '8SFqwqnq4whPhs8icwHA2hQg3hUoN1qrCLK1SBx3WKwe'
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'

it.each([splTokenProgram, token2022Program])('finds the account that the library finds, under %s', async (program) => {
  const [expected] = await findAssociatedTokenPda({
    owner: wallet as Address,
    mint: mint as Address,
    tokenProgram: program as Address,
  })
  expect(await findTokenAccount(wallet, mint, program)).toBe(expected)
  expect(await findTokenAccount(wallet, mint, program)).toBe(expected)
  expect(associatedTokenProgram).toBe(ASSOCIATED_TOKEN_PROGRAM_ADDRESS)
})

it('refuses a text that is not an address', async () => {
  await expect(findTokenAccount('me', mint, splTokenProgram)).rejects.toThrow()
})
