/**
 * Many transfers in one transaction: compute budget, opened accounts, memo, transfers; one signer.
 *
 * The memo comes directly before the first transfer, so that a single transfer also reaches an account that requires
 * memos.
 */
import type { Instruction } from '@solana/kit'
import { splTokenProgram } from '../../core/money/tokens.ts'
import type { TransferOrder } from '../../core/payouts/outgoing-wallet.ts'
import { findTokenAccount } from '../accounts/programs.ts'
import { longestBytes } from '../read/decode.ts'
import {
  computeBudget,
  computeUnits,
  memoInstruction,
  openInstruction,
  transferInstruction,
  usualMicroLamports,
} from './payment.ts'

export interface FeeTerms {
  /** The maximum cost of a transaction. The priority fee is reduced to stay below it. */
  readonly maxFeeLamports?: bigint
}

export interface TransferBatch {
  readonly instructions: readonly Instruction[]
  /** By instruction: the index of its transfer, if it belongs to one. */
  readonly transferOf: readonly (number | undefined)[]
  /** The source account; the wallet itself for SOL. */
  readonly source: string
  /** The destination accounts, by transfer. */
  readonly destinations: readonly string[]
}

export const signatureLamports = 5_000n
const mostUnits = 1_400_000

/** A generous estimate per transfer. The simulation detects one that is too low before anything is sent. */
const transferUnits = { lamports: 1_000, spl: 10_000, token2022: 30_000 }

export async function composeBatch(order: TransferOrder, wallet: string, terms: FeeTerms = {}): Promise<TransferBatch> {
  const { mint, transfers, memo } = order
  const findAccount = (owner: string) =>
    mint ? findTokenAccount(owner, mint.address, mint.tokenProgram) : Promise.resolve(owner)
  const [source = '', ...destinations] = await Promise.all([
    findAccount(wallet),
    ...transfers.map(({ owner }) => findAccount(owner)),
  ])
  const units = computeUnitsFor(order)
  const instructions: Instruction[] = [...computeBudget(units, computePriorityFee(units, terms, order.attempts))]
  const transferOf: (number | undefined)[] = [undefined, undefined]
  const add = (instruction: Instruction, transfer?: number) => {
    instructions.push(instruction)
    transferOf.push(transfer)
  }
  for (const [index, { owner, opens }] of transfers.entries()) {
    if (mint && opens) add(await openInstruction(wallet, owner, mint), index)
  }
  add(memoInstruction(memo))
  for (const [index, { owner, units: amount }] of transfers.entries())
    add(await transferInstruction(wallet, owner, { mint, units: amount }), index)
  return { instructions, transferOf, source, destinations }
}

export function computeUnitsFor({ mint, transfers }: TransferOrder): number {
  const kind = !mint ? 'lamports' : mint.tokenProgram === splTokenProgram ? 'spl' : 'token2022'
  const openings = mint ? transfers.filter(({ opens }) => opens).length : 0
  const units = computeUnits.base + transfers.length * transferUnits[kind] + openings * computeUnits.createAccount
  return Math.min(units, mostUnits)
}

const mostDoublings = 7

/** In millionths of a lamport per compute unit. Each attempt that did not land doubles it. */
export function computePriorityFee(units: number, { maxFeeLamports }: FeeTerms, attempts = 0): bigint {
  const wanted = usualMicroLamports << BigInt(Math.min(attempts, mostDoublings))
  if (maxFeeLamports === undefined) return wanted
  const most = ((maxFeeLamports - signatureLamports) * 1_000_000n) / BigInt(units)
  if (most <= 0n) return 0n
  return most < wanted ? most : wanted
}

/**
 * The chain's limit of executed instructions, including calls between programs. The limit of 64 locked accounts is not
 * relevant, because only half as many fit.
 */
const mostSteps = 64
/** The number of instructions that opening an account runs if the account already holds lamports. */
const openingSteps = 7

/** Program, accounts and data. Each list is preceded by its length. */
function instructionBytes(accounts: number, data: number): number {
  return 1 + lengthBytes(accounts) + accounts + lengthBytes(data) + data
}

/** Lengths are encoded in groups of seven bits. */
function lengthBytes(length: number): number {
  return length < 0x80 ? 1 : 2
}

const keyBytes = 32
/** One signature, version, header, key count, blockhash, and the counts of instructions and lookup tables. */
const frameBytes = 1 + 64 + 1 + 3 + 1 + 32 + 1 + 1
const budgetBytes = instructionBytes(0, 5) + instructionBytes(0, 9)
const sizes = { tokens: instructionBytes(4, 10), lamports: instructionBytes(2, 12), opening: instructionBytes(6, 1) }

/**
 * The number of transfers, counted from the first, that fit into one transaction. Every receiver counts as a different
 * one, so the receivers need not be known.
 */
export function fitInto({ mint, transfers, memo }: TransferOrder): number {
  const memoBytes = new TextEncoder().encode(memo).length
  // Wallet, memo and budget programs; the source, its mint and token program, or the System program.
  let keys = 3 + (mint ? 3 : 1)
  let bytes = frameBytes + budgetBytes + instructionBytes(0, memoBytes)
  let steps = 3
  let hasOpened = false
  for (const [index, { opens }] of transfers.entries()) {
    keys += 1
    bytes += mint ? sizes.tokens : sizes.lamports
    steps += 1
    if (mint && opens) {
      // The owner, and once the programs that open accounts.
      keys += hasOpened ? 1 : 3
      bytes += sizes.opening
      steps += openingSteps
      hasOpened = true
    }
    if (bytes + keys * keyBytes > longestBytes || steps > mostSteps) return index
  }
  return transfers.length
}
