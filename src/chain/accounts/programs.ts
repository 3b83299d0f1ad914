/**
 * Program ids, and the addresses of token accounts. Programs are identified by id only, because names are not unique.
 */
import { type Address, address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { type Mint, solDecimals, splTokenProgram, token2022Program } from '../../core/money/tokens.ts'

export const systemProgram = '11111111111111111111111111111111'
export const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

/** The memo program of the client: the version that every cluster and wallet supports. */
export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

/** Versions 1, 3 and 4. */
export const memoPrograms: ReadonlySet<string> = new Set([
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  memoProgram,
  'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH',
])

/** Programs trade wrapped SOL in place of SOL. */
export const wrappedSol: Mint = {
  address: 'So11111111111111111111111111111111111111112',
  decimals: solDecimals,
  tokenProgram: splTokenProgram,
}

export const tokenPrograms: ReadonlySet<string> = new Set([splTokenProgram, token2022Program])

/** Cache of derived addresses. A derivation takes a millisecond, and the same recipients occur again and again. */
const known = new Map<string, Promise<string>>()
const mostKnown = 8_192

/** The associated token account of a wallet: the only token account that a payer can derive without asking a node. */
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
