/** Reads the balances of a payer and the state of the paid wallets in one request to a node. */
import { type Mint, smallestBalance } from '../../core/money/tokens.ts'
import type { SplitPart } from '../../core/payment/splits.ts'
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
      /** The wallets of `others`, in their order. */
      readonly others: readonly OtherFunds[]
    }
  | { readonly kind: 'unavailable'; readonly why: string }

/** A further wallet that a payment pays. */
export interface OtherFunds {
  readonly wallet: string
  readonly lamports: bigint
  /** The mints for which it has a token account. */
  readonly mints: readonly string[]
}

/** Lamports for the signature and priority fees of a payment. */
const feeReserve = 15_000n
/** The rent of a token account that a payment opens, in lamports. */
const accountRent = 2_039_280n

/**
 * The lamports that a wallet needs to send `units` of SOL, or of a mint, and to pay the fees, unless a sponsor pays them.
 * A wallet that spends any must keep the rent-exempt minimum, or the payment fails.
 */
export function computeNeededLamports(
  mint: Pick<Mint, 'address'> | undefined,
  units: bigint,
  { createAccount = false, isSponsored = false } = {},
): bigint {
  const given = (mint ? 0n : units) + (createAccount ? accountRent : 0n)
  const spent = given + (isSponsored ? 0n : feeReserve)
  return spent > 0n ? spent + smallestBalance : 0n
}

/** The first part whose wallet cannot receive it: it has no token account, or remains too empty. */
export function findUnready(
  others: readonly OtherFunds[],
  parts: readonly SplitPart[],
  mint: Pick<Mint, 'address'> | undefined,
): SplitPart | undefined {
  return parts.find(({ recipient, units }) => {
    const found = others.find(({ wallet }) => wallet === recipient)
    return mint ? !found?.mints.includes(mint.address) : (found?.lamports ?? 0n) + units < smallestBalance
  })
}

export interface FundsQuestion {
  readonly wallet: string
  readonly recipient: string
  /** Further wallets that are paid. */
  readonly others?: readonly string[]
  readonly mints: readonly Pick<Mint, 'address' | 'tokenProgram'>[]
}

export async function readFunds(rpc: Rpc, question: FundsQuestion): Promise<FundsReading> {
  const { wallet, recipient, others = [], mints } = question
  const owners = [wallet, recipient, ...others]
  const groups = await Promise.all(
    mints.map((mint) => Promise.all(owners.map((owner) => findTokenAccount(owner, mint.address, mint.tokenProgram)))),
  )
  const addresses = [...owners, ...groups.flat()]
  // Both programs use the same layout for the start of a token account, and the rest is not needed here.
  const reading = await askAccounts(rpc.call, addresses, { dataSlice: { offset: 0, length: accountBytes } })
  if (reading.kind === 'unavailable') return reading
  const { accounts } = reading
  const held = mints.map((mint, index) =>
    owners.map((_, place) => findTokens(accounts[owners.length * (1 + index) + place], mint)),
  )
  const tokens = mints.map((mint, index) => {
    const [own, theirs] = held[index] ?? []
    const frozen = own?.isFrozen ?? false
    const units = frozen ? 0n : (own?.units ?? 0n)
    return {
      mint: mint.address,
      account: groups[index]?.[0] ?? '',
      units,
      frozen,
      recipientReady: theirs !== undefined,
    }
  })
  return {
    kind: 'funds',
    lamports: accounts[0]?.lamports ?? 0n,
    recipientLamports: accounts[1]?.lamports ?? 0n,
    tokens,
    others: others.map((other, index) => ({
      wallet: other,
      lamports: accounts[2 + index]?.lamports ?? 0n,
      mints: mints.filter((_, place) => held[place]?.[2 + index] !== undefined).map(({ address }) => address),
    })),
  }
}

function findTokens(account: ChainAccount | undefined, mint: Pick<Mint, 'address' | 'tokenProgram'>) {
  if (account?.owner !== mint.tokenProgram) return undefined
  const tokens = parseTokenAccount(account)
  return tokens?.mint === mint.address ? tokens : undefined
}
