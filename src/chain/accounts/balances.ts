/** Reads the balances of a payer and the state of the recipient in one request to a node. */
import type { Mint } from '../../core/money/tokens.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { askAccounts, type ChainAccount } from './account.ts'
import { findTokenAccount } from './programs.ts'
import { accountBytes, parseTokenAccount } from './token-account.ts'

export interface TokenFunds {
  readonly mint: string
  readonly account: string
  /** The amount that can be sent; 0 if the account does not exist or is frozen. */
  readonly units: bigint
  readonly frozen: boolean
  /** Whether the recipient's token account exists. If not, the payer must open it. */
  readonly recipientReady: boolean
}

export type FundsReading =
  | {
      readonly kind: 'funds'
      readonly lamports: bigint
      /** An empty wallet cannot receive less than the rent-exempt minimum. */
      readonly recipientLamports: bigint
      readonly tokens: readonly TokenFunds[]
    }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface FundsQuestion {
  readonly wallet: string
  readonly recipient: string
  readonly mints: readonly Pick<Mint, 'address' | 'tokenProgram'>[]
}

export async function readFunds(rpc: Rpc, question: FundsQuestion): Promise<FundsReading> {
  const { wallet, recipient, mints } = question
  const owners = [wallet, recipient]
  const pairs = await Promise.all(
    mints.map((mint) => Promise.all(owners.map((owner) => findTokenAccount(owner, mint.address, mint.tokenProgram)))),
  )
  const addresses = [...owners, ...pairs.flat()]
  // Both programs use the same layout for the start of a token account, and the rest is not needed here.
  const reading = await askAccounts(rpc.call, addresses, { dataSlice: { offset: 0, length: accountBytes } })
  if (reading.kind === 'unavailable') return reading
  const { accounts } = reading
  const tokens = mints.map((mint, index) => {
    const [own, theirs] = [2, 3].map((place) => findTokens(accounts[place + 2 * index], mint))
    const frozen = own?.isFrozen ?? false
    const units = frozen ? 0n : (own?.units ?? 0n)
    return { mint: mint.address, account: pairs[index]?.[0] ?? '', units, frozen, recipientReady: theirs !== undefined }
  })
  return {
    kind: 'funds',
    lamports: accounts[0]?.lamports ?? 0n,
    recipientLamports: accounts[1]?.lamports ?? 0n,
    tokens,
  }
}

function findTokens(account: ChainAccount | undefined, mint: Pick<Mint, 'address' | 'tokenProgram'>) {
  if (account?.owner !== mint.tokenProgram) return undefined
  const tokens = parseTokenAccount(account)
  return tokens?.mint === mint.address ? tokens : undefined
}
