/**
 * A swap by an external program, in a transaction of this service. One instruction comes from outside, and all others
 * are built here.
 *
 * SOL is wrapped before the swap and unwrapped after it, because programs trade only wrapped SOL.
 */
import { AccountRole, address, createNoopSigner, type Instruction } from '@solana/kit'
import { getCloseAccountInstruction, getSyncNativeInstruction } from '@solana-program/token'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { LookupTable } from '../accounts/lookup-tables.ts'
import { findTokenAccount, wrappedSol } from '../accounts/programs.ts'
import { openTransaction } from '../read/decode.ts'
import { composeMessage, unsigned } from '../send/message.ts'
import type { ExchangeBounds } from '../send/simulate-effects.ts'
import { computeBudget, memoInstruction, openInstruction, transferInstruction } from './payment.ts'
import type { ExchangeDetails } from './rfq-swap.ts'

/** An instruction written by a third party. */
export interface ForeignInstruction {
  readonly program: string
  readonly accounts: readonly { readonly address: string; readonly isSigner: boolean; readonly isWritable: boolean }[]
  readonly data: Uint8Array
}

export interface SwapDraft extends ExchangeDetails, Pick<ExchangeBounds, 'wallet' | 'sell' | 'buy' | 'units'> {
  readonly swap: ForeignInstruction
  /** Whether all wrapped SOL of the wallet is unwrapped afterwards. */
  readonly unwraps: boolean
  readonly tables: readonly LookupTable[]
}

export interface ComposedSwap {
  /** The complete unsigned transaction. */
  readonly transaction: Uint8Array
  /** The writable accounts from lookup tables. */
  readonly loaded: readonly string[]
}

export async function composeSwap(draft: SwapDraft): Promise<ComposedSwap> {
  const { wallet, sell, buy, units, swap, memo, opens, unwraps, computeUnits, microLamports } = draft
  const { blockhash, tables } = draft
  const instructions = [...computeBudget(computeUnits, microLamports)]
  const account = address(await findTokenAccount(wallet, wrappedSol.address, wrappedSol.tokenProgram))
  if (!sell || !buy) instructions.push(await openInstruction(wallet, wallet, wrappedSol))
  if (!sell) {
    const transfer = await transferInstruction(wallet, account, { mint: undefined, units })
    instructions.push(transfer, getSyncNativeInstruction({ account }))
  }
  if (opens && buy) instructions.push(await openInstruction(wallet, wallet, buy))
  instructions.push(memoInstruction(memo), asInstruction(swap))
  const owner = createNoopSigner(address(wallet))
  if (unwraps) instructions.push(getCloseAccountInstruction({ account, destination: owner.address, owner }))
  const transaction = unsigned(composeMessage(instructions, { blockhash }, wallet, tables))
  const known = new Map(tables.map(({ address: table, entries }) => [table, entries]))
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
      role: chooseRole(isSigner, isWritable),
    })),
  }
}

function chooseRole(isSigner: boolean, isWritable: boolean): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY
}
