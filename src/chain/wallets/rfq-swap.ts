/**
 * Both sides of an exchange in one transaction: the taker pays a desk, the desk pays the taker, or nothing happens.
 *
 * Both build it from the same terms. Whoever is to sign bytes that the other composed reads the few terms that only the
 * other knows, builds it anew and compares every byte: nothing can be hidden in what comes out equal.
 */
import {
  parseSetComputeUnitLimitInstruction,
  parseSetComputeUnitPriceInstruction,
  COMPUTE_BUDGET_PROGRAM_ADDRESS as programAddress,
} from '@solana-program/compute-budget'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { memoProgram } from '../accounts/programs.ts'
import { decodeTransaction, type Transaction } from '../read/decode.ts'
import { composeMessage, unsigned } from '../send/message.ts'
import { computeBudget, type Leg, memoInstruction, openInstruction, transferInstruction } from './payment.ts'

export interface ExchangeTerms {
  /** Pays the fee, and signs last: only it can send the transaction. */
  readonly taker: string
  readonly desk: string
  /** What the taker gives, and what it gets. */
  readonly sell: Leg
  readonly buy: Leg
}

/** What the taker alone decides. */
export interface ExchangeDetails {
  readonly blockhash: string
  readonly memo: string
  /** Whether the taker's account for what it buys is opened first, at its cost. */
  readonly opens: boolean
  readonly computeUnits: number
  /** Millionths of a lamport for each of them. */
  readonly microLamports: bigint
}

/** More than two transfers, a memo and a new account take. */
export const exchangeComputeUnits = 200_000

/** The message that both sign. */
export async function composeExchange(terms: ExchangeTerms, details: ExchangeDetails): Promise<Uint8Array> {
  const { taker, desk, sell, buy } = terms
  const { blockhash, memo, opens, computeUnits, microLamports } = details
  const opening = opens && buy.mint ? [await openInstruction(taker, taker, buy.mint)] : []
  const instructions = [
    ...computeBudget(computeUnits, microLamports),
    ...opening,
    await transferInstruction(taker, desk, sell),
    // An account that demands memos wants one right before what it gets.
    memoInstruction(memo),
    await transferInstruction(desk, taker, buy),
  ]
  return composeMessage(instructions, { blockhash }, taker)
}

/** What a taker decided of an exchange on these terms; undefined when the message is not exactly that exchange. */
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

/** Reads what may be read wrongly: only the comparison tells. */
function guess({ keys, instructions, lifetime }: Transaction): ExchangeDetails | undefined {
  const [limit, price] = instructions
  const memo = instructions.find(({ program }) => encodeBase58(keys[program] ?? new Uint8Array()) === memoProgram)
  if (!limit || !price || !memo) return undefined
  try {
    return {
      blockhash: encodeBase58(lifetime),
      memo: new TextDecoder('utf-8', { fatal: true }).decode(memo.data),
      opens: instructions.length > 5,
      computeUnits: parseSetComputeUnitLimitInstruction({ programAddress, data: limit.data }).data.units,
      microLamports: parseSetComputeUnitPriceInstruction({ programAddress, data: price.data }).data.microLamports,
    }
  } catch {
    return undefined
  }
}
