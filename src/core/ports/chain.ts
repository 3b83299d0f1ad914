/** The chain as a port: reads of transactions and of the chain's time. */
import type { Effect } from '../payment/verify.ts'

/** The time according to a node, in milliseconds since 1970. */
export interface ChainTime {
  readonly chainMs: number
  /** The node's own clock, if its HTTP response contains it. */
  readonly nodeMs: number | undefined
}

export type Reading =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** `isUnreadable`: nodes have the transaction, but their data cannot be verified. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly isUnreadable?: boolean }
  | { readonly kind: 'disagreement'; readonly why: string }

/** The required certainty of a transaction. A `confirmed` one can in theory be reverted, a `finalized` one cannot. */
export type Commitment = 'confirmed' | 'finalized'

/** The outcome of a transaction that was confirmed once. */
export type Fate =
  | 'finalized'
  /** It is not on the chain, and its blockhash has expired, so it cannot land again; or it landed again and failed. */
  | 'reverted'
  /** The outcome is not known yet. */
  | 'open'

/** The time for which a transaction that was read is remembered. A dropped fork is known after it. */
export const rememberedMs = 60_000

export interface ReadOptions {
  readonly commitment?: Commitment
  /**
   * For clients that named transactions that do not exist. Many such lookups are batched before one transaction is
   * read.
   */
  readonly isDoubtful?: boolean
  /** Whether the watcher's result is enough. If not, the nodes are asked. */
  readonly isEnough?: (effect: Effect) => boolean
  /** The payment may have been read and forgotten, so it is not left to the watcher. */
  readonly isOld?: boolean
}

/** The chain, read through one or more nodes that can be slow, wrong or dishonest. */
export interface Chain {
  /**
   * Reads the effects of a transaction. Waits up to `waitMs` for it to appear. Concurrent reads of one transaction
   * share one request.
   */
  read(signature: string, waitMs: number, options?: ReadOptions): Promise<Reading>
  /** The effects of a transaction that was read within the last minute. Sends no request. */
  seen(signature: string): Effect | undefined
  /** Reads payments to an address as they land, from now on or from the journal's position. */
  watch(address: string): void
  /** Reads the outcomes of transactions, each given with the slot in which it was confirmed. */
  fatesOf(landed: readonly { readonly signature: string; readonly slot: number }[]): Promise<readonly Fate[]>
  close(): Promise<void>
}

/** The outcome of an attempt to open a token account. */
export type Opening =
  | { readonly kind: 'opened'; readonly tx: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** Another attempt was made a short time ago. */
  | { readonly kind: 'resting' }

/** The state of a node. Its name is its index in the configuration, because its address can contain a key. */
export interface NodeState {
  readonly name: string
  /** The latest processed slot; undefined if the node gave none. */
  readonly slot: number | undefined
  /** Slots behind the furthest node. */
  readonly lag: number | undefined
  readonly latencyMs: number
  /** The reason without a slot; otherwise empty. */
  readonly why: string
}
