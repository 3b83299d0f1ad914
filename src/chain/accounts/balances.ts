/** What a wallet could pay with, and whether the recipient can be paid, in one question to a node. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Mint } from '../../core/money/tokens.ts'
import { isFields, readList } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { type ChainAccount, readAccount } from './account.ts'
import { findTokenAccount } from './programs.ts'

export interface TokenFunds {
  readonly mint: string
  readonly account: string
  /** What can be sent; none where the account does not exist or is frozen. */
  readonly units: bigint
  readonly frozen: boolean
  /** Whether the recipient's token account exists; without it the payer has to open it. */
  readonly recipientReady: boolean
}

export type FundsReading =
  | {
      readonly kind: 'funds'
      readonly lamports: bigint
      /** An empty wallet cannot be sent less than what an account must hold to exist. */
      readonly recipientLamports: bigint
      readonly tokens: readonly TokenFunds[]
    }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface FundsQuestion {
  readonly wallet: string
  readonly recipient: string
  readonly mints: readonly Pick<Mint, 'address' | 'tokenProgram'>[]
}

const tokenAccountBytes = 165

export async function readFunds(rpc: Rpc, question: FundsQuestion): Promise<FundsReading> {
  const { wallet, recipient, mints } = question
  const owners = [wallet, recipient]
  const pairs = await Promise.all(
    mints.map((mint) => Promise.all(owners.map((owner) => findTokenAccount(owner, mint.address, mint.tokenProgram)))),
  )
  const addresses = [...owners, ...pairs.flat()]
  // A token account begins alike under both programs, and the rest of it does not matter here.
  const config = { encoding: 'base64', commitment: 'confirmed', dataSlice: { offset: 0, length: tokenAccountBytes } }
  const answer = await rpc.call('getMultipleAccounts', [addresses, config])
  if (answer.kind === 'unavailable') return answer
  if (answer.kind === 'refused') return { kind: 'unavailable', why: `the node refused with code ${answer.code}` }
  const accounts = isFields(answer.result) ? readList(answer.result['value'], readAccount) : undefined
  if (accounts?.length !== addresses.length) return { kind: 'unavailable', why: 'the accounts cannot be read' }
  const tokens = mints.map((mint, index) => {
    const own = readTokenAccount(accounts[2 + 2 * index], mint)
    const theirs = readTokenAccount(accounts[3 + 2 * index], mint)
    const frozen = own?.frozen ?? false
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

/** Mint, owner, amount, …, state: the layout that SPL Token and Token-2022 share. */
function readTokenAccount(
  account: ChainAccount | undefined,
  mint: Pick<Mint, 'address' | 'tokenProgram'>,
): { readonly units: bigint; readonly frozen: boolean } | undefined {
  if (account?.owner !== mint.tokenProgram || account.data.length < tokenAccountBytes) return undefined
  const { data } = account
  const state = data[108]
  if (state === 0 || encodeBase58(data.subarray(0, 32)) !== mint.address) return undefined
  const units = new DataView(data.buffer, data.byteOffset).getBigUint64(64, true)
  return { units, frozen: state === 2 }
}
