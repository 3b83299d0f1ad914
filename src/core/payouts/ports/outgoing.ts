/** Outgoing transactions, as a port of the ledger: payouts, conversions and refunds. */
import type { SignedBytes } from '../outgoing-wallet.ts'
import type { PayeeName } from './rewards.ts'

/** One line of a payout: the amount that a payee receives, and the accruals that it settles. */
export interface PayoutLine extends PayeeName {
  /** The settled accruals: those after `from`, up to and including `through`. */
  readonly from: number
  readonly through: number
  /** The sum of these accruals. */
  readonly gross: bigint
  /** The amount sent: the gross amount less the reductions for a lower rate and for opening an account. */
  readonly units: bigint
  /** Deducted for the rent of the payee's token account, if it did not exist. */
  readonly opening: bigint
}

export type OutgoingTransactionKind = 'payout' | 'conversion' | 'refund'

/**
 * `planned`: reserved, without a signed transaction that could still land. `signed`: its bytes can land. `landed`: they
 * landed and are final. `dropped`: abandoned, and its reservation is released.
 */
export type OutgoingTransactionState = 'planned' | 'signed' | 'landed' | 'dropped'

/** A stored signed transaction. */
export interface KeptBytes extends Omit<SignedBytes, 'wire'> {
  /** Encrypted, and erased once the outcome is known. */
  readonly sealed: string
}

export interface OutgoingTransaction {
  /** Also in the memo of its transaction. */
  readonly id: string
  readonly kind: OutgoingTransactionKind
  /**
   * At most one transaction per key is under way, and at most one refund per key ever lands. Empty for payouts, which
   * reserve by line.
   */
  readonly lockKey: string
  readonly state: OutgoingTransactionState
  readonly version: number
  /** Times of the plan and of the last change. */
  readonly at: number
  readonly changedAt: number
  /** Number of signatures. */
  readonly attempts: number
  /** Number of failures on chain. */
  readonly failures: number
  /** The last signed bytes. Undefined before the first signature; without `sealed` once the outcome is known. */
  readonly signed: KeptBytes | undefined
  readonly slot: number
  /** The reason why it was signed again or dropped. Empty otherwise. */
  readonly why: string
  /** The details and the result of a conversion or refund, as JSON text. Empty for payouts. */
  readonly about: string
}

export interface PlannedTransaction extends Pick<OutgoingTransaction, 'id' | 'kind' | 'lockKey' | 'about'> {
  /** Payouts only. */
  readonly lines: readonly PayoutLine[]
  /** The maximum sum of payouts that landed since a time or are under way, including this one. */
  readonly cap?: { readonly since: number; readonly units: bigint }
  /**
   * The payment that a full refund voids. The payment must be undelivered (or see `coversUse`), and it cannot be used
   * unless the refund is dropped. A late or unregistered payment can be voided, too; then no proof can register it any more.
   */
  readonly voids?: Uint8Array
  /** The payment may be voided although it was used. A use in progress still prevents it. */
  readonly coversUse?: boolean
  /** The refunded payment and amount. The books subtract it when the refund has landed. */
  readonly refunds?: { readonly tx: Uint8Array; readonly units: bigint }
}

/** The maximum number of payouts signed since a time. A repeated signature counts again. */
export interface SigningBudget {
  readonly since: number
  readonly most: bigint
}

export type Planning =
  | { readonly kind: 'planned'; readonly transaction: OutgoingTransaction }
  /**
   * Another transaction was first: the payee's balance changed, the lock key is in use, or a refund with it landed.
   */
  | { readonly kind: 'taken' }
  /** The cap is reached. */
  | { readonly kind: 'capped' }
  /** The payment was used, is being delivered, was reverted by the chain, or is being refunded already. */
  | { readonly kind: 'in_use' }

export type SigningResult =
  | { readonly kind: 'signed'; readonly transaction: OutgoingTransaction }
  /** The version has passed; nothing changed. */
  | { readonly kind: 'passed' }
  /** The payout would be one more than the budget allows; nothing changed. */
  | { readonly kind: 'spent' }

export interface OutgoingTransactionMark {
  readonly at: number
  readonly id: string
}

export interface OutgoingTransactions {
  /** Reserves and records in one step. */
  plan(plan: PlannedTransaction): Promise<Planning>
  /** Keeps signed bytes, before they are sent. */
  sign(id: string, version: number, signed: KeptBytes, about?: string, budget?: SigningBudget): Promise<SigningResult>
  /** Each of these returns the transaction as it is now, or undefined when the version has passed; then nothing changed. */
  /** What was signed can no longer land: back to `planned`. It may have failed on chain, and not only missed its time. */
  unsign(id: string, version: number, why: string, hasFailed?: boolean): Promise<OutgoingTransaction | undefined>
  /** The transaction is final, and its lines are paid. */
  land(id: string, version: number, slot: number, about?: string): Promise<OutgoingTransaction | undefined>
  /** Abandons a planned transaction and releases its reservation. */
  drop(id: string, version: number, why: string): Promise<OutgoingTransaction | undefined>
  /** All planned and signed transactions, the oldest first. */
  open(): Promise<readonly OutgoingTransaction[]>
  get(id: string): Promise<OutgoingTransaction | undefined>
  /** The latest transaction with a lock key that was not dropped. */
  findByLockKey(lockKey: string): Promise<OutgoingTransaction | undefined>
  /** The same for many keys, in their order. */
  findByLockKeys(lockKeys: readonly string[]): Promise<readonly (OutgoingTransaction | undefined)[]>
  lines(id: string): Promise<readonly PayoutLine[]>
  /** The latest first, after a given one. */
  list(query: {
    readonly kind?: OutgoingTransactionKind
    readonly state?: OutgoingTransactionState
    readonly after?: OutgoingTransactionMark
    readonly most: number
  }): Promise<readonly OutgoingTransaction[]>
  /** The payouts to a payee, landed or under way, the latest first. */
  linesOf(
    name: PayeeName,
    most: number,
  ): Promise<readonly (PayoutLine & { readonly transaction: OutgoingTransaction })[]>
  /**
   * The sum of payouts that landed since a time, regardless of when they were planned, or are under way and can land at
   * any time.
   */
  planned(since: number): Promise<bigint>
  /** Number of payout signatures since a time. */
  signings(since: number): Promise<bigint>
}

/** Encrypts signed bytes, so that only this service can read them. */
export interface Sealer {
  /** The public tag of the service's secret: 8 characters, with which the ids of its outgoing transactions begin. */
  readonly tag: string
  seal(bytes: Uint8Array, about: string): string
  /** Undefined for text that this service did not seal, or that it sealed for another subject. */
  open(text: string, about: string): Uint8Array | undefined
}
