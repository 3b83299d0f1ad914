/** The ledger as a port: payments, allowances, grants. */
import { PaystileError } from '../errors/paystile-error.ts'
import type { FrozenRates } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'
import type { Allowance } from '../payment/allowance.ts'
import type { Consequence } from '../payment/delivery.ts'
import type { OutgoingTransactions } from '../payouts/ports/outgoing.ts'
import type { Rewards } from '../payouts/ports/rewards.ts'
import type { Clock } from '../runtime.ts'
import type { Journal, RateJournal } from './journal.ts'
import type { KeyValueStore } from './kv.ts'
import type { LedgerEvents } from './outbox.ts'
import type { Books } from './reports.ts'

/** What the ledger keeps of a payment. People appear as pseudonyms only. */
export interface PaymentRecord {
  /** The 64 bytes of the transaction's signature: the one key under which a payment exists. */
  readonly tx: Uint8Array
  /** Pseudonym of the requestId it paid. */
  readonly request: string
  /** Pseudonym of the payer. */
  readonly payer: string
  readonly scope: string
  readonly recipient: string
  readonly token: TokenCode
  readonly required: bigint
  readonly received: bigint
  readonly allowance: Allowance
  readonly slot: number
  /** Milliseconds since 1970, as all times of the ledger. */
  readonly paidAt: number
  /** Until when what it bought can be used. */
  readonly usableUntil: number
  /** Whether the chain might still take it back. */
  readonly finality: 'confirmed' | 'finalized'
  /** What was paid for, as the provider names it: a path. */
  readonly endpoint: string
  /** What it was worth in the report token at its block time, in units of 10⁻¹²; undefined without a rate. */
  readonly worth: bigint | undefined
  /** By which that was reckoned, and by which it can be reckoned anew. */
  readonly rates: FrozenRates | undefined
}

/** One use of an allowance, held while a response is made. A rival with a later fence makes it void. */
export interface Grant {
  readonly tx: Uint8Array
  readonly fence: bigint
  readonly amount: bigint
  /** The position in a file from which it may be sent; 0 for all other units. */
  readonly from: bigint
}

/** How a payment stands, without touching it. */
export interface PaymentStatus {
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly token: TokenCode
  readonly received: bigint
  /** `reverted`: the chain took the payment back. What had been used of it stays used, should it land again. */
  readonly state: 'open' | 'busy' | 'spent' | 'late' | 'reverted'
  readonly allowance: Allowance
  readonly remaining: bigint
  /** Milliseconds since 1970. */
  readonly usableUntil: number
}

export type Taken =
  | { readonly kind: 'granted'; readonly grant: Grant; readonly remaining: bigint }
  /** All that is left is under somebody's lease. */
  | { readonly kind: 'busy' }
  /** Used up, delivered too often, past its time, or refunded. */
  | { readonly kind: 'spent' }
  /** The transaction was used for another requestId. */
  | { readonly kind: 'foreign' }
  /** Never registered, and no record was given to register it. */
  | { readonly kind: 'unknown' }

export interface Take {
  readonly tx: Uint8Array
  /** Pseudonym of the requestId the proof names. */
  readonly request: string
  /** Registers the payment if it is new. Left out when it is known to be registered. */
  readonly payment?: PaymentRecord
  /** The most that is wanted; the grant says how much it is. */
  readonly amount: bigint
  /** The first position that is wanted of a file. */
  readonly from?: bigint
  readonly leaseMs: number
}

/**
 * The durable record of payments and grants, and the only thing on which all replicas must agree.
 *
 * Promise: at most one live grant on any part of an allowance, no grant after that part was settled, and an
 * acknowledged answer survives the death of the process. A store that cannot be reached throws `LedgerUnavailable`.
 */
export interface Ledger {
  /** A clock of its own by which it judges leases, where it has one: the service then goes by the same. */
  readonly clock?: Clock
  /** What is written down beside the payments, in the same store. */
  readonly journal: Journal
  /** What the payments add up to, and their list. */
  readonly books: Books
  /** Small things that all servers must know of, for a while. */
  readonly kv: KeyValueStore
  /** What somebody outside is to be told. */
  readonly events: LedgerEvents
  /** Who is owed what of the payments. */
  readonly rewards: Rewards
  /** What goes out. */
  readonly outgoing: OutgoingTransactions
  /** Rates as they were believed. */
  readonly rates: RateJournal
  peek(tx: Uint8Array): Promise<PaymentStatus | undefined>
  /** Registers and takes in one atomic step. */
  take(take: Take): Promise<Taken>
  /** Extends a lease. False when it was lost. */
  renew(grant: Grant, leaseMs: number): Promise<boolean>
  /**
   * Consumes for good what was used of a grant of bytes, `used` in all since its beginning, and holds up to `more` for what
   * comes next. Answers how much that is, 0 when nothing is left; undefined when the lease was lost, and then nothing
   * changed. Saying it again, for an answer that was lost, consumes nothing more.
   */
  advance(grant: Grant, used: bigint, more: bigint): Promise<bigint | undefined>
  /** Ends a grant: `used` since its beginning is consumed, the rest goes back. False when the lease was lost; then nothing changed. */
  end(grant: Grant, consequence: Consequence, used: bigint): Promise<boolean>
  /** Keeps a payment that came too late, for the operator to see and refund. It does not stop a later valid use. */
  recordLate(payment: PaymentRecord): Promise<void>
  close(): Promise<void>
}

/** The store cannot be reached or cannot promise durability at this moment. The outcome of the call is unknown. */
export class LedgerUnavailable extends PaystileError {
  override readonly name = 'LedgerUnavailable'
  constructor(message: string, options?: ErrorOptions) {
    super('ledger_unavailable', message, options)
  }
}
