/** Program ids, and where a wallet keeps its tokens. Programs are told apart by id only: a name can be anybody's. */
import { type Address, address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { type Mint, solDecimals, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'

export const systemProgram = '11111111111111111111111111111111'
export const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

/** The one our client writes to: the version that every cluster and wallet knows. */
export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

/** Versions 1, 3 and 4. */
export const memoPrograms: ReadonlySet<string> = new Set([
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  memoProgram,
  'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH',
])

/** What programs trade instead of SOL. */
export const wrappedSol: Mint = {
  address: 'So11111111111111111111111111111111111111112',
  decimals: solDecimals,
  tokenProgram: splTokenProgram,
}

export const tokenPrograms: ReadonlySet<string> = new Set([splTokenProgram, token2022Program])

/** Working one out takes a millisecond; payers come back to the same shops, and those who are paid are asked for twice. */
const known = new Map<string, Promise<string>>()
const mostKnown = 8_192

/** The account in which a wallet receives a token: the only one that a payer can work out alone. */
export function findTokenAccount(wallet: string, mint: string, tokenProgram: string): Promise<string> {
  const name = `${wallet} ${mint} ${tokenProgram}`
  const account = known.get(name) ?? deriveTokenAccount(wallet, mint, tokenProgram)
  if (known.size >= mostKnown) known.clear()
  known.set(name, account)
  return account
}

async function deriveTokenAccount(wallet: string, mint: string, tokenProgram: string): Promise<string> {
  const encoder = getAddressEncoder()
  const seeds = [wallet, tokenProgram, mint].map((part) => encoder.encode(address(part)))
  const [account] = await getProgramDerivedAddress({ programAddress: associatedTokenProgram as Address, seeds })
  return account
}
