/** The chain as a port: reads of transactions and of the chain's time. */
import type { Effect } from '../payment/verify.ts'

/** The time according to a node, in milliseconds since 1970. */
export interface ChainTime {
  readonly chainMs: number
  /** The node's own clock, where its HTTP answer tells it. */
  readonly nodeMs: number | undefined
}

export type Reading =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** `isUnreadable` where nodes have the transaction and what they say of it cannot be judged. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly isUnreadable?: boolean }
  | { readonly kind: 'disagreement'; readonly why: string }

/** How sure the chain must be of a transaction: `confirmed` may in theory be taken back, `finalized` may not. */
export type Commitment = 'confirmed' | 'finalized'

/** What became of a transaction that was confirmed once. */
export type Fate =
  | 'finalized'
  /** It is not on the chain, and for its blockhash cannot come back; or it came back and failed. */
  | 'reverted'
  /** Nobody can tell yet. */
  | 'open'

export interface ReadOptions {
  readonly commitment?: Commitment
  /** For somebody who named transactions that do not exist: many such are looked up together before one is read. */
  readonly isDoubtful?: boolean
  /** Not what the watcher has seen, but what the nodes say now. */
  readonly isAnew?: boolean
}

/** The chain, read through one or more nodes that may be slow, wrong or lying. */
export interface Chain {
  /** What a transaction did. Waits up to `waitMs` for it to appear; simultaneous readers of one share one read. */
  read(signature: string, waitMs: number, options?: ReadOptions): Promise<Reading>
  /** What a transaction did, if it was read within the last minute. Asks nobody. */
  seen(signature: string): Effect | undefined
  /** Reads payments to an address as they land, from now on or from where the journal stands. */
  watch(address: string): void
  /** What became of transactions, each with the slot in which it was confirmed. */
  fatesOf(landed: readonly { readonly signature: string; readonly slot: number }[]): Promise<readonly Fate[]>
  close(): Promise<void>
}

/** What became of an attempt to open a token account. */
export type Opening =
  | { readonly kind: 'opened'; readonly tx: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** It was tried a short while ago. */
  | { readonly kind: 'resting' }
