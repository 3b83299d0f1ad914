/** Outgoing transactions, as a port of the ledger: payouts, conversions and refunds. */
import type { PayeeName } from './rewards.ts'

/** One line of a payout: what a payee gets, and what that settles. */
export interface PayoutLine extends PayeeName {
  /** The accruals it settles: those after `from`, up to `upto`. */
  readonly from: number
  readonly upto: number
  /** What they come to. */
  readonly gross: bigint
  /** What is sent: the gross less what a lower rate and the opening of an account take. */
  readonly units: bigint
  /** Taken for the rent of the payee's token account, which did not exist. */
  readonly opening: bigint
}

export type OutgoingTransactionKind = 'payout' | 'conversion' | 'refund'

/**
 * `planned`: reserved, nothing signed that could still land. `signed`: its bytes may land. `landed`: they did, for good.
 * `dropped`: given up; what it had reserved is owed again.
 */
export type OutgoingTransactionState = 'planned' | 'signed' | 'landed' | 'dropped'

/** A signed transaction, as it is kept. */
export interface KeptBytes {
  readonly signature: string
  readonly lastValidBlockHeight: number
  /** The slot in which its block was read: a node whose memory begins later cannot say that it never landed. */
  readonly slot: number
  /** Sealed, and erased once its fate is known. */
  readonly sealed: string
}

export interface OutgoingTransaction {
  /** Also in the memo of its transaction. */
  readonly id: string
  readonly kind: OutgoingTransactionKind
  /** Of one name only one is under way, and of a refund's only one ever lands; empty for payouts, which reserve by line. */
  readonly lane: string
  readonly state: OutgoingTransactionState
  readonly version: number
  /** When it was planned, and when it last changed. */
  readonly at: number
  readonly changedAt: number
  /** How often it was signed. */
  readonly attempts: number
  /** How often it failed on chain. */
  readonly failures: number
  /** Of the last bytes; undefined before the first. Without `sealed` once their fate is known. */
  readonly signed: KeptBytes | undefined
  readonly slot: number
  /** Why it was signed anew, or dropped; empty otherwise. */
  readonly why: string
  /** What a conversion or a refund is about, and what came of it, as JSON text; empty for payouts. */
  readonly about: string
}

export interface PlannedTransaction {
  readonly id: string
  readonly kind: OutgoingTransactionKind
  readonly lane: string
  readonly about: string
  /** Payouts only. */
  readonly lines: readonly PayoutLine[]
  /** The most that payouts may send that landed since a time or are under way, this one included. */
  readonly cap?: { readonly since: number; readonly units: bigint }
  /**
   * Refunds of whole payments: it must still have brought nothing, and cannot be used from then on, until the refund is
   * dropped. It may have come too late, or be registered nowhere: then nobody can register it any more, whichever proof it has.
   */
  readonly voids?: Uint8Array
  /** The payment that a refund sends back, and how much of it. When it has landed, the books subtract it. */
  readonly refunds?: { readonly tx: Uint8Array; readonly units: bigint }
}

/** The most payouts that may be signed since a time, one that is signed again counted again. */
export interface SigningBudget {
  readonly since: number
  readonly most: bigint
}

export type Planning =
  | { readonly kind: 'planned'; readonly dispatch: OutgoingTransaction }
  /** Somebody was first: a payee has moved on, the lane is in use, or (a refund) was used. */
  | { readonly kind: 'taken' }
  /** The cap is reached. */
  | { readonly kind: 'capped' }
  /** The payment to be refunded was used, is being delivered, was taken back by the chain, or goes back already. */
  | { readonly kind: 'in_use' }

export type SigningResult =
  | { readonly kind: 'signed'; readonly outgoing: OutgoingTransaction }
  /** The version has passed; nothing changed. */
  | { readonly kind: 'passed' }
  /** The payout would be one more than the budget allows; nothing changed. */
  | { readonly kind: 'spent' }

export interface OutgoingTransactionMark {
  readonly at: number
  readonly id: string
}

export interface OutgoingTransactions {
  /** Reserves and writes down, in one step. */
  plan(plan: PlannedTransaction): Promise<Planning>
  /** Keeps signed bytes, before they are sent. */
  sign(id: string, version: number, signed: KeptBytes, about?: string, budget?: SigningBudget): Promise<SigningResult>
  /** Each of these returns the transaction as it is now, or undefined when the version has passed; then nothing changed. */
  /** What was signed can no longer land: back to `planned`. It may have failed on chain, and not only missed its time. */
  unsign(id: string, version: number, why: string, hasFailed?: boolean): Promise<OutgoingTransaction | undefined>
  /** It landed for good: what it paid is paid. */
  land(id: string, version: number, slot: number, about?: string): Promise<OutgoingTransaction | undefined>
  /** Gives up what is only planned: what it had reserved is owed again. */
  drop(id: string, version: number, why: string): Promise<OutgoingTransaction | undefined>
  /** All that is planned or signed, the oldest first. */
  open(): Promise<readonly OutgoingTransaction[]>
  get(id: string): Promise<OutgoingTransaction | undefined>
  /** The one in a lane that was not dropped; the latest. */
  inLane(lane: string): Promise<OutgoingTransaction | undefined>
  /** The same of many lanes, in their order. */
  inLanes(lanes: readonly string[]): Promise<readonly (OutgoingTransaction | undefined)[]>
  lines(id: string): Promise<readonly PayoutLine[]>
  /** The latest first, beyond one. */
  list(query: {
    readonly kind?: OutgoingTransactionKind
    readonly state?: OutgoingTransactionState
    readonly after?: OutgoingTransactionMark
    readonly most: number
  }): Promise<readonly OutgoingTransaction[]>
  /** What a payee was paid, or is about to be, the latest first. */
  linesOf(name: PayeeName, most: number): Promise<readonly (PayoutLine & { readonly dispatch: OutgoingTransaction })[]>
  /** What payouts send that landed since a time, whenever they were planned, or are under way: those may land any time. */
  planned(since: number): Promise<bigint>
  /** How often payouts were signed since a time. */
  signings(since: number): Promise<bigint>
}

/** Signed bytes are kept so that only this service can read them. */
export interface Sealer {
  seal(bytes: Uint8Array, about: string): string
  /** Undefined for what was not sealed here, or about something else. */
  open(text: string, about: string): Uint8Array | undefined
}
