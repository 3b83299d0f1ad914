/**
 * Reads transactions that clients of other protocols submit for the service to send.
 *
 * The form is strict, because the service may sign them as fee payer: transfers, memos and compute limits, and no other
 * instruction but assertions; if the payer pays the fee, also the opening of token accounts. The sponsor's account occurs in no instruction, so the sponsor can lose only the fee.
 */

import { encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { sha256 } from '../../core/encoding/sha256.ts'
import type { SubmissionReading, SubmittedTransfer } from '../../core/ports/sponsor.ts'
import type { Verifier } from '../../core/runtime.ts'
import { associatedTokenProgram, memoPrograms, systemProgram, tokenPrograms } from '../accounts/programs.ts'
import { decodeTransaction, type Instruction, longestBytes, readSignature, type Transaction } from '../read/decode.ts'
import { readInstructions } from '../read/instructions.ts'

const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111'
/** Wallets add its assertions. They only read accounts, and fail the transaction if a condition does not hold. */
const lighthouseProgram = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'
/** Clients that pay the fee themselves open the accounts of splits, in case they are missing. */
const createIdempotent = 1
const mostAssertions = 3
const mostMemos = 9
const mostTransfers = 9
const mostUnits = 200_000
const lamportsPerSignature = 5_000n
/** The highest priority fee that the sponsor pays. */
const mostPriorityLamports = 5_000n
/** The limit of a transaction that sets none, at most. */
const unlimitedUnits = 1_400_000

/** `sponsor` is the only wallet whose signature may be missing. */
export function readSubmission(bytes: Uint8Array, sponsor: string | undefined, verify: Verifier): SubmissionReading {
  if (bytes.length > longestBytes) return invalid('transaction_too_large')
  const decoding = decodeTransaction(bytes)
  if (decoding.kind === 'malformed') return invalid('transaction_could_not_be_decoded')
  const { transaction } = decoding
  const { version, lookups, header, keys, signatures } = transaction
  if (version === 1 || lookups.length > 0) return invalid('transaction_version')
  const feePayer = encodeBase58(keys[0] ?? new Uint8Array())
  const isSponsored = feePayer === sponsor
  if (header.requiredSignatures !== (isSponsored ? 2 : 1)) return invalid('signers')
  const parts = readParts(transaction, isSponsored)
  if (typeof parts === 'string') return invalid(parts)
  const { transfers, memos, limit, price } = parts
  const [first] = transfers
  if (!first) return invalid('no_transfer_instruction')
  const payer = first.authority
  if (transfers.some(({ authority }) => authority !== payer)) return invalid('several_payers')
  const signer = isSponsored ? encodeBase58(keys[1] ?? new Uint8Array()) : feePayer
  if (payer !== signer) return invalid('payer_is_not_the_signer')
  if (isSponsored && transaction.instructions.some(({ accounts }) => accounts.includes(0)))
    return invalid('fee_payer_included_in_instruction_accounts')
  if (limit !== undefined && limit > mostUnits) return invalid('compute_limit_too_high')
  const priority = (BigInt(limit ?? unlimitedUnits) * price + 999_999n) / 1_000_000n
  if (isSponsored && priority > mostPriorityLamports) return invalid('compute_price_too_high')
  if (!isSigned(transaction, isSponsored, verify)) return invalid('payer_signature')
  const isComplete = !isSponsored || !equalBytes(signatures[0] ?? nothing, noSignature)
  return {
    kind: 'submitted',
    transaction: {
      bytes,
      message: sha256(transaction.message),
      feePayer,
      signature: isComplete ? readSignature(transaction) : undefined,
      payer,
      transfers,
      memos,
      blockhash: encodeBase58(transaction.lifetime),
      fee: lamportsPerSignature * BigInt(header.requiredSignatures) + priority,
    },
  }
}

const nothing = new Uint8Array()
const noSignature = new Uint8Array(64)

function invalid(why: string): SubmissionReading {
  return { kind: 'invalid', why }
}

/** The signatures of all but the sponsor. A sponsor's signature that is present must be valid, too. */
function isSigned({ signatures, keys, message }: Transaction, isSponsored: boolean, verify: Verifier): boolean {
  return signatures.every((signature, index) => {
    if (index === 0 && isSponsored && equalBytes(signature, noSignature)) return true
    return verify(keys[index] ?? nothing, message, signature)
  })
}

interface Parts {
  readonly transfers: readonly SubmittedTransfer[]
  readonly memos: readonly string[]
  readonly limit: number | undefined
  /** In millionths of a lamport for each compute unit. */
  readonly price: bigint
}

/** The permitted instructions, or the name of the rule that one of them breaks. */
function readParts(transaction: Transaction, isSponsored: boolean): Parts | string {
  const { instructions, keys } = transaction
  const addressOf = (index: number | undefined): string =>
    index === undefined ? '' : encodeBase58(keys[index] ?? nothing)
  const transfers: SubmittedTransfer[] = []
  const memos: string[] = []
  let [assertions, openings, limit, price]: [number, number, number | undefined, bigint | undefined] = [
    0,
    0,
    undefined,
    undefined,
  ]
  for (const instruction of instructions) {
    const program = addressOf(instruction.program)
    if (program === computeBudgetProgram) {
      const setting = readComputeSetting(instruction)
      if (setting?.kind === 'limit' && limit === undefined) limit = setting.units
      else if (setting?.kind === 'price' && price === undefined) price = setting.price
      else return 'compute_budget_instruction'
    } else if (program === lighthouseProgram) {
      assertions += 1
    } else if (memoPrograms.has(program)) {
      if (instruction.accounts.length > 0) return 'memo_with_accounts'
      memos.push(String.fromCharCode(...instruction.data))
    } else if (program === associatedTokenProgram && !isSponsored && isOpening(instruction)) {
      openings += 1
    } else {
      const transfer = readTransfer(program, instruction, addressOf)
      if (!transfer) return 'unknown_instruction'
      transfers.push(transfer)
    }
  }
  const isLong = assertions > mostAssertions || memos.length > mostMemos
  if (isLong || transfers.length > mostTransfers || openings > mostTransfers) return 'instructions_length'
  return { transfers, memos, limit, price: price ?? 0n }
}

/** Opens a token account if it is missing, at the expense of the fee payer. */
function isOpening({ accounts, data }: Instruction): boolean {
  return data.length === 1 && data[0] === createIdempotent && accounts.length === 6 && accounts[0] === 0
}

/** TransferChecked with its four accounts, or a plain transfer of SOL. */
function readTransfer(
  program: string,
  { accounts, data }: Instruction,
  addressOf: (index: number | undefined) => string,
): SubmittedTransfer | undefined {
  const isToken = tokenPrograms.has(program)
  if (!isToken && program !== systemProgram) return undefined
  if (isToken ? data[0] !== 12 || data.length !== 10 || accounts.length !== 4 : data[0] !== 2 || data.length !== 12)
    return undefined
  const [move] = readInstructions(program, accounts, data) ?? []
  if (move?.kind !== 'move' || move.units === undefined) return undefined
  return {
    asset: isToken ? addressOf(move.mint) : 'SOL',
    destination: addressOf(move.destination),
    authority: addressOf(move.authority),
    units: move.units,
  }
}

type ComputeSetting =
  | { readonly kind: 'limit'; readonly units: number }
  | { readonly kind: 'price'; readonly price: bigint }

function readComputeSetting({ data, accounts }: Instruction): ComputeSetting | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (accounts.length > 0) return undefined
  if (data[0] === 2 && data.length === 5) return { kind: 'limit', units: view.getUint32(1, true) }
  if (data[0] === 3 && data.length === 9) return { kind: 'price', price: view.getBigUint64(1, true) }
  return undefined
}
