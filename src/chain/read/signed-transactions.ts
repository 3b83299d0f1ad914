/**
 * The latest transactions that this process completed with its own signature, after it had verified all others. A node
 * that reports exactly these bytes needs no second verification.
 */
import { setNewest } from '../../core/collections/bounded-map.ts'
import type { Transaction } from './decode.ts'

export interface SignedTransactions {
  /** `wire` is the whole transaction in base64. All its signatures must have been verified. */
  add(wire: string, transaction: Transaction): void
  find(wire: string): Transaction | undefined
}

/** A transaction takes about two kilobytes here, and is read back within a second or two. */
const mostKept = 512

export function createSignedTransactions(): SignedTransactions {
  const kept = new Map<string, Transaction>()
  return {
    add: (wire, transaction) => setNewest(kept, wire, transaction, mostKept),
    find: (wire) => kept.get(wire),
  }
}
