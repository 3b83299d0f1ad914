/** Transactions and node answers made by hand, for what no honest chain would produce. */
import { memoProgram } from '../../src/chain/accounts/programs.ts'
import type { Instruction, Lookup, Transaction } from '../../src/chain/read/decode.ts'
import { readEffect } from '../../src/chain/read/effects.ts'
import { decodeAddress, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { splTokenProgram } from '../../src/core/money/tokens.ts'
import type { Effect } from '../../src/core/payment/verify.ts'

export const keyOf = (byte: number) => new Uint8Array(32).fill(byte)
export const nameOf = (byte: number) => encodeBase58(keyOf(byte))
export const [payer, recipient, source, destination, mint, other] = [10, 11, 12, 13, 14, 15].map(nameOf) as [
  string,
  string,
  string,
  string,
  string,
  string,
]

/** Accounts 0 payer (signer), 1 recipient, 2 source, 3 destination, 4 mint, 5 other, 6 the program. */
export function transactionOf(
  program: string,
  instructions: readonly Partial<Instruction>[],
  lookups: readonly Lookup[] = [],
) {
  const keys = [10, 11, 12, 13, 14, 15].map(keyOf)
  return {
    version: 0,
    signatures: [new Uint8Array(64)],
    message: new Uint8Array(),
    header: { requiredSignatures: 1, readonlySigned: 0, readonlyUnsigned: 1 },
    keys: [...keys, decodeAddress(program) ?? keyOf(0)],
    lifetime: keyOf(1),
    instructions: instructions.map((one) => ({
      program: 6,
      accounts: new Uint8Array(),
      data: new Uint8Array(),
      ...one,
    })),
    lookups,
    config: {},
  } satisfies Transaction
}

export const units = (amount: bigint) =>
  Array.from({ length: 8 }, (_, index) => Number((amount >> BigInt(8 * index)) & 255n))
export const bytes = (...parts: readonly (number | readonly number[])[]) => Uint8Array.from(parts.flat())

export const balance = (accountIndex: number, amount: string, owner = payer, of = mint) => ({
  accountIndex,
  mint: of,
  owner,
  programId: splTokenProgram,
  uiTokenAmount: { amount, decimals: 6, uiAmount: 99, uiAmountString: '99' },
})

export const soundMeta = {
  err: null as unknown,
  fee: 5000,
  preBalances: [100, 0, 20, 20, 1, 0, 1] as unknown[],
  postBalances: [50, 45, 20, 20, 1, 0, 1] as unknown[],
  preTokenBalances: [balance(2, '500'), balance(3, '7', recipient)] as unknown[],
  postTokenBalances: [balance(2, '400'), balance(3, '107', recipient)] as unknown[],
  innerInstructions: [] as unknown,
  loadedAddresses: { writable: [], readonly: [] } as unknown,
}

export const read = (transaction: Transaction, meta: unknown = soundMeta) =>
  readEffect({ signature: 'sig', slot: 5, blockTime: 1_700_000_000, transaction, meta })

export function effectOf(transaction: Transaction, meta: unknown = soundMeta): Effect {
  const reading = read(transaction, meta)
  if (reading.kind !== 'effect') throw new Error(reading.why)
  return reading.effect
}

export const noTransfer = transactionOf(memoProgram, [{ data: bytes([104, 105]) }])
