/**
 * A swap by a program, in a transaction of our own: that one instruction comes from elsewhere, and all others are ours.
 *
 * SOL is wrapped before and unwrapped after it, since programs trade wrapped SOL only.
 */
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createNoopSigner,
  createTransactionMessage,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import { getTransferSolInstruction } from '@solana-program/system'
import { getCloseAccountInstruction, getSyncNativeInstruction } from '@solana-program/token'
import { encodeBase58 } from '../core/base58.ts'
import type { Mint } from '../core/network.ts'
import { splTokenProgram } from '../core/network.ts'
import type { LookupTable } from './lookup-tables.ts'
import { unsigned } from './message.ts'
import { memoInstruction, openInstruction } from './payment.ts'
import { findTokenAccount } from './tokens.ts'
import { openTransaction } from './transaction.ts'

export const wrappedSol: Mint = {
  address: 'So11111111111111111111111111111111111111112',
  decimals: 9,
  tokenProgram: splTokenProgram,
}

/** An instruction that somebody else wrote. */
export interface ForeignInstruction {
  readonly program: string
  readonly accounts: readonly {
    readonly address: string
    readonly isSigner: boolean
    readonly isWritable: boolean
  }[]
  readonly data: Uint8Array
}

export interface SwapDraft {
  readonly wallet: string
  /** Undefined for SOL, in both. */
  readonly sell: Mint | undefined
  readonly buy: Mint | undefined
  readonly units: bigint
  readonly swap: ForeignInstruction
  readonly memo: string
  /** Whether the wallet's account for what it buys is opened first. */
  readonly opens: boolean
  /** Whether all wrapped SOL of the wallet is unwrapped afterwards. */
  readonly unwraps: boolean
  readonly blockhash: string
  readonly computeUnits: number
  readonly microLamports: bigint
  readonly tables: readonly LookupTable[]
}

export interface ComposedSwap {
  /** The whole transaction, not signed yet. */
  readonly transaction: Uint8Array
  /** What it may write to by lookup tables. */
  readonly loaded: readonly string[]
}

export async function composeSwap(draft: SwapDraft): Promise<ComposedSwap> {
  const { wallet, sell, buy, units, swap, memo, opens, unwraps, computeUnits, microLamports } = draft
  const signer = createNoopSigner(address(wallet))
  const instructions: Instruction[] = [
    getSetComputeUnitLimitInstruction({ units: computeUnits }),
    getSetComputeUnitPriceInstruction({ microLamports }),
  ]
  const account = address(await findTokenAccount(wallet, wrappedSol.address, wrappedSol.tokenProgram))
  if (!sell || !buy) instructions.push(openInstruction(wallet, account, wallet, wrappedSol))
  if (!sell) {
    const transfer = getTransferSolInstruction({ source: signer, destination: account, amount: units })
    instructions.push(transfer, getSyncNativeInstruction({ account }))
  }
  if (opens && buy) {
    const own = await findTokenAccount(wallet, buy.address, buy.tokenProgram)
    instructions.push(openInstruction(wallet, own, wallet, buy))
  }
  instructions.push(memoInstruction(memo), asInstruction(swap))
  if (unwraps) instructions.push(getCloseAccountInstruction({ account, destination: signer.address, owner: signer }))
  return compress(instructions, draft)
}

function compress(instructions: readonly Instruction[], { wallet, blockhash, tables }: SwapDraft): ComposedSwap {
  const entries = Object.fromEntries(
    tables.map(({ address: table, entries: list }) => [table, list.map((one) => address(one))]),
  ) as Record<Address, Address[]>
  // How long the blockhash lives is not part of the message.
  const until = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(wallet), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(until, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
    (draft) => compressTransactionMessageUsingAddressLookupTables(draft, entries),
  )
  const transaction = unsigned(new Uint8Array(compileTransaction(message).messageBytes))
  const known = new Map(tables.map(({ address: table, entries: list }) => [table, list]))
  const loaded = openTransaction(transaction).lookups.flatMap(({ table, writable }) =>
    [...writable].map((place) => known.get(encodeBase58(table))?.[place] ?? ''),
  )
  return { transaction, loaded }
}

function asInstruction({ program, accounts, data }: ForeignInstruction): Instruction {
  return {
    programAddress: address(program),
    data,
    accounts: accounts.map(({ address: account, isSigner, isWritable }) => ({
      address: address(account),
      role: roleOf(isSigner, isWritable),
    })),
  }
}

function roleOf(isSigner: boolean, isWritable: boolean): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY
}
