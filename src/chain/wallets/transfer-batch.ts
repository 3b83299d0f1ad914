/**
 * Many transfers in one transaction: budget, the accounts that are opened, memo, transfers; one signer.
 *
 * The memo stands right before the first transfer, so that a single one reaches an account that demands memos, too.
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
  /** The most that a transaction may cost. Its priority is lowered rather than that more is paid. */
  readonly maxFeeLamports?: bigint
}

export interface TransferBatch {
  readonly instructions: readonly Instruction[]
  /** By instruction: the transfer that it is for, where it is for one. */
  readonly transferOf: readonly (number | undefined)[]
  /** Where the money comes from; the wallet itself for SOL. */
  readonly source: string
  /** By transfer: where it goes. */
  readonly destinations: readonly string[]
}

export const signatureLamports = 5_000n
const mostUnits = 1_400_000

/** What a transfer takes, generously; one too few is found out before anything is sent. */
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
  for (const [index, { owner, units: amount }] of transfers.entries()) {
    add(await transferInstruction(wallet, owner, { mint, units: amount }), index)
  }
  return { instructions, transferOf, source, destinations }
}

export function computeUnitsFor({ mint, transfers }: TransferOrder): number {
  const kind = !mint ? 'lamports' : mint.tokenProgram === splTokenProgram ? 'spl' : 'token2022'
  const openings = mint ? transfers.filter(({ opens }) => opens).length : 0
  const units = computeUnits.base + transfers.length * transferUnits[kind] + openings * computeUnits.createAccount
  return Math.min(units, mostUnits)
}

const mostDoublings = 7

/** In millionths of a lamport for a unit: what did not land is worth twice as much the next time. */
export function computePriorityFee(units: number, { maxFeeLamports }: FeeTerms, attempts = 0): bigint {
  const wanted = usualMicroLamports << BigInt(Math.min(attempts, mostDoublings))
  if (maxFeeLamports === undefined) return wanted
  const most = ((maxFeeLamports - signatureLamports) * 1_000_000n) / BigInt(units)
  if (most <= 0n) return 0n
  return most < wanted ? most : wanted
}

/** So many instructions may run, those that programs call among them. Of accounts 64 may be locked, and half of that fits. */
const mostSteps = 64
/** Opening an account that somebody sent lamports before calls the programs so often. */
const openingSteps = 7

/** Program, accounts, data; each list behind its length. */
function instructionBytes(accounts: number, data: number): number {
  return 1 + lengthBytes(accounts) + accounts + lengthBytes(data) + data
}

/** Lengths are written in seven bits each. */
function lengthBytes(length: number): number {
  return length < 0x80 ? 1 : 2
}

const keyBytes = 32
/** One signature, version, header, the number of keys, blockhash, the numbers of instructions and of lookup tables. */
const frameBytes = 1 + 64 + 1 + 3 + 1 + 32 + 1 + 1
const budgetBytes = instructionBytes(0, 5) + instructionBytes(0, 9)
const sizes = { tokens: instructionBytes(4, 10), lamports: instructionBytes(2, 12), opening: instructionBytes(6, 1) }

/**
 * How many of the transfers, from the first on, go into one transaction. Reckoned as if everybody who gets something were
 * somebody else: who they are need not be known.
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
      // The owner; once, the programs that open accounts.
      keys += hasOpened ? 1 : 3
      bytes += sizes.opening
      steps += openingSteps
      hasOpened = true
    }
    if (bytes + keys * keyBytes > longestBytes || steps > mostSteps) return index
  }
  return transfers.length
}
