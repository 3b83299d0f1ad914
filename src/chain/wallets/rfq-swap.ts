/**
 * Both sides of an exchange in one transaction: the taker pays a desk and the desk pays the taker, or nothing happens.
 *
 * Both parties build the transaction from the same terms. A party that signs bytes of the other reads the few terms
 * that only the other knows, rebuilds the message and compares every byte. An equal message cannot hide anything.
 */
import {
  parseSetComputeUnitLimitInstruction,
  parseSetComputeUnitPriceInstruction,
  COMPUTE_BUDGET_PROGRAM_ADDRESS as programAddress,
} from '@solana-program/compute-budget'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { memoProgram } from '../accounts/programs.ts'
import { decodeTransaction, type Transaction } from '../read/decode.ts'
import { composeMessage, unsigned } from '../send/message.ts'
import { computeBudget, type Leg, memoInstruction, openInstruction, transferInstruction } from './payment.ts'

export interface ExchangeTerms {
  /** Pays the fee and signs last, so only the taker can send the transaction. */
  readonly taker: string
  readonly desk: string
  /** The taker's outgoing and incoming side. */
  readonly sell: Leg
  readonly buy: Leg
}

/** The details that the taker alone decides. */
export interface ExchangeDetails {
  readonly blockhash: string
  readonly memo: string
  /** Whether the taker's account for the bought token is opened first, at the taker's expense. */
  readonly opens: boolean
  readonly computeUnits: number
  /** The price per compute unit, in millionths of a lamport. */
  readonly microLamports: bigint
}

/** More than two transfers, a memo and a new account need. */
export const exchangeComputeUnits = 200_000

/** The message that both parties sign. */
export async function composeExchange(terms: ExchangeTerms, details: ExchangeDetails): Promise<Uint8Array> {
  const { taker, desk, sell, buy } = terms
  const { blockhash, memo, opens, computeUnits, microLamports } = details
  const opening = opens && buy.mint ? [await openInstruction(taker, taker, buy.mint)] : []
  const instructions = [
    ...computeBudget(computeUnits, microLamports),
    ...opening,
    await transferInstruction(taker, desk, sell),
    // An account that requires memos needs one directly before each incoming transfer.
    memoInstruction(memo),
    await transferInstruction(desk, taker, buy),
  ]
  return composeMessage(instructions, { blockhash }, taker)
}

/** The taker's details of an exchange on these terms. Undefined if the message is not exactly that exchange. */
export async function readExchange(message: Uint8Array, terms: ExchangeTerms): Promise<ExchangeDetails | undefined> {
  const decoding = decodeTransaction(unsigned(message))
  if (decoding.kind === 'malformed' || decoding.transaction.version !== 0) return undefined
  const details = guess(decoding.transaction)
  if (!details) return undefined
  try {
    return equalBytes(await composeExchange(terms, details), message) ? details : undefined
  } catch {
    return undefined
  }
}

/** Reads the details without checks. The comparison verifies them. */
function guess({ keys, instructions, lifetime }: Transaction): ExchangeDetails | undefined {
  const [limit, price] = instructions
  const memo = instructions.find(({ program }) => encodeBase58(keys[program] ?? new Uint8Array()) === memoProgram)
  if (!limit || !price || !memo) return undefined
  return attempt(() => ({
    blockhash: encodeBase58(lifetime),
    memo: new TextDecoder('utf-8', { fatal: true }).decode(memo.data),
    opens: instructions.length > 5,
    computeUnits: parseSetComputeUnitLimitInstruction({ programAddress, data: limit.data }).data.units,
    microLamports: parseSetComputeUnitPriceInstruction({ programAddress, data: price.data }).data.microLamports,
  }))
}
