/**
 * Parses the instructions that matter to a payment: transfers and memos.
 *
 * Accounts are indexes into the transaction. The parser is called for instructions that ran. An instruction without its
 * accounts or data cannot have run, so it is reported as an error and not skipped.
 */
import { splTokenProgram, token2022Program } from '../../core/money/tokens.ts'
import { memoPrograms, systemProgram, tokenPrograms } from '../accounts/programs.ts'

export interface Memo {
  readonly kind: 'memo'
  readonly data: Uint8Array
}

export interface ParsedTransfer {
  readonly kind: 'move'
  readonly money: 'lamports' | 'tokens'
  readonly source: number
  readonly destination: number
  /** Only the checked token transfers name it. */
  readonly mint: number | undefined
  /** Undefined if the authority is the owner of the source and the instruction does not name it. */
  readonly authority: number | undefined
  /** Undefined if the amount is confidential. */
  readonly units: bigint | undefined
  /** All accounts of the instruction, including its signers. */
  readonly given: Indices
}

export type ParsedInstruction = Memo | ParsedTransfer
export type Indices = ArrayLike<number>

/** Undefined if an instruction of that program with these parts cannot have run. */
export function readInstructions(
  program: string,
  accounts: Indices,
  data: Uint8Array,
): readonly ParsedInstruction[] | undefined {
  if (memoPrograms.has(program)) return [{ kind: 'memo', data }]
  if (program === systemProgram) return readSystem(accounts, data)
  if (program === splTokenProgram || program === token2022Program) return readToken(program, accounts, data)
  return none
}

/** Whether instructions of that program need decoding. */
export function isOfInterest(program: string): boolean {
  return program === systemProgram || tokenPrograms.has(program) || memoPrograms.has(program)
}

const none: readonly ParsedInstruction[] = []

const systemTransfer = 2
const systemTransferWithSeed = 11

function readSystem(accounts: Indices, data: Uint8Array): readonly ParsedInstruction[] | undefined {
  const kind = data.length < 4 ? undefined : view(data).getUint32(0, true)
  if (kind !== systemTransfer && kind !== systemTransferWithSeed) return none
  const money = 'lamports'
  // Programs ignore trailing bytes, so these are allowed.
  const units = readUnits(data, 4)
  if (units === undefined) return undefined
  // With a seed, the source is an address derived from a wallet. That wallet, the second account, is the authority.
  const roles = kind === systemTransfer ? pick(accounts, 0, 1, 0) : pick(accounts, 0, 2, 1)
  return roles && [{ kind: 'move', money, ...roles, mint: undefined, units, given: accounts }]
}

const transfer = 3
const transferChecked = 12
const transferFeeExtension = 26
const transferCheckedWithFee = 1
const confidentialExtension = 27
const confidentialTransfers: readonly (number | undefined)[] = [7, 13]
const batch = 255

function readToken(program: string, accounts: Indices, data: Uint8Array): readonly ParsedInstruction[] | undefined {
  if (data[0] === batch) return readBatch(program, accounts, data)
  if (data[0] === transfer) return tokenMove(accounts, pick(accounts, 0, 1, 2), undefined, readUnits(data, 1))
  const roles = pick(accounts, 0, 2, 3)
  if (data[0] === transferChecked) return tokenMove(accounts, roles, accounts[1], readUnits(data, 1))
  if (program !== token2022Program) return none
  if (data[0] === transferFeeExtension && data[1] === transferCheckedWithFee)
    return tokenMove(accounts, roles, accounts[1], readUnits(data, 2))
  if (data[0] !== confidentialExtension || !confidentialTransfers.includes(data[1])) return none
  // The number of accounts before the authority depends on the proofs, but only the owner can authorize such a
  // transfer.
  const hidden = roles && { ...roles, authority: undefined }
  return hidden && [{ kind: 'move', money: 'tokens', ...hidden, mint: accounts[1], units: undefined, given: accounts }]
}

/**
 * Reads a batch: several token instructions in one, run without calls between programs, so no inner instruction reports
 * them. Each entry has the number of its accounts, the length of its data, and the data. The chain refuses nested
 * batches.
 */
function readBatch(program: string, accounts: Indices, data: Uint8Array): readonly ParsedInstruction[] | undefined {
  const parsed: ParsedInstruction[] = []
  let account = 0
  for (let at = 1; at < data.length; ) {
    const [count = 0, length = 0] = data.subarray(at, at + 2)
    const part = data.subarray(at + 2, at + 2 + length)
    const given = Array.prototype.slice.call(accounts, account, account + count) as readonly number[]
    if (length === 0 || part.length !== length || given.length !== count || part[0] === batch) return undefined
    const found = readToken(program, given, part)
    if (!found) return undefined
    parsed.push(...found)
    at += 2 + length
    account += count
  }
  return parsed
}

interface Roles {
  readonly source: number
  readonly destination: number
  readonly authority: number
}

function pick(accounts: Indices, from: number, to: number, by: number): Roles | undefined {
  const [source, destination, authority] = [accounts[from], accounts[to], accounts[by]]
  if (source === undefined || destination === undefined || authority === undefined) return undefined
  return { source, destination, authority }
}

function tokenMove(
  given: Indices,
  roles: Roles | undefined,
  mint: number | undefined,
  units: bigint | undefined,
): readonly ParsedInstruction[] | undefined {
  if (!roles || units === undefined) return undefined
  return [{ kind: 'move', money: 'tokens', ...roles, mint, units, given }]
}

function readUnits(data: Uint8Array, at: number): bigint | undefined {
  return data.length < at + 8 ? undefined : view(data).getBigUint64(at, true)
}

function view(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength)
}
