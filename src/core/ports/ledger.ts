/** The ledger as a port: payments, allowances, grants. */
import { PaystileError } from '../errors/paystile-error.ts'
import type { FrozenRates } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'
import type { Allowance } from '../payment/allowance.ts'
import type { DeliveryOutcome } from '../payment/delivery.ts'
import type { SplitPart } from '../payment/splits.ts'
import type { OutgoingTransactions } from '../payouts/ports/outgoing.ts'
import type { Rewards } from '../payouts/ports/rewards.ts'
import type { Clock } from '../runtime.ts'
import type { Journal, RateJournal } from './journal.ts'
import type { KeyValueStore } from './kv.ts'
import type { LedgerEvents } from './outbox.ts'
import type { Books } from './reports.ts'
import type { Submissions } from './sponsor.ts'

/** The ledger's record of a payment. Wallets appear as pseudonyms only. */
export interface PaymentRecord {
  /** The 64 bytes of the transaction's signature, the only key of a payment. */
  readonly tx: Uint8Array
  /** Pseudonym of the paid requestId. */
  readonly request: string
  /** Pseudonym of the payer. */
  readonly payer: string
  readonly scope: string
  readonly recipient: string
  readonly token: TokenCode
  /** The recipient's part of the price. If it collects the parts of others, the whole price. */
  readonly required: bigint
  readonly received: bigint
  /** The amounts that other wallets received in the same transaction. They are no part of `received`. */
  readonly splits?: readonly SplitPart[]
  /** The recipient received the amounts of `splits` in their place, and owes them. They are a part of `required`. */
  readonly isCollected?: boolean
  readonly allowance: Allowance
  readonly slot: number
  /** Milliseconds since 1970, like all times of the ledger. */
  readonly paidAt: number
  /** The end of the period in which the allowance can be used. */
  readonly usableUntil: number
  /** Whether the chain can still revert it. */
  readonly finality: 'confirmed' | 'finalized'
  /** The purchased endpoint, by the provider's name: a path. */
  readonly endpoint: string
  /** Its value in the report token at its block time, in units of 10⁻¹². Undefined without a rate. */
  readonly worth: bigint | undefined
  /** The rates of this valuation. It can be repeated with them. */
  readonly rates: FrozenRates | undefined
}

/** One use of an allowance, held while a response is produced. A grant with a later fence voids it. */
export interface Grant {
  readonly tx: Uint8Array
  readonly fence: bigint
  readonly amount: bigint
  /**
   * The position in a file from which the response may send. For a slice of a bundle, the number of its first report, 1.
   * Otherwise 0.
   */
  readonly from: bigint
}

/** The ended uses of a slice since its last report. */
export interface SliceReport {
  /** Counts the reports of the slice, from 1. */
  readonly number: bigint
  readonly delivered: bigint
  readonly partial: bigint
  readonly noBody: bigint
  /** The uses that the holder keeps: those that are under way, and those that it may start before the answer. */
  readonly keeps: bigint
  /** Whether the ledger fills the slice up. */
  readonly fills: boolean
}

export interface SliceState {
  /** The uses in the slice. With 0, the slice has ended. */
  readonly held: bigint
  /** The rest of the bundle, without this slice. */
  readonly remaining: bigint
  /** False if the payment can no longer be used. */
  readonly isOpen: boolean
}

/** The part of a record that decides about the use of its allowance. */
export type PaymentTerms = Pick<
  PaymentRecord,
  'request' | 'payer' | 'scope' | 'token' | 'required' | 'received' | 'allowance' | 'usableUntil'
>

/** The status of a payment, read without changing it. */
export interface PaymentStatus extends PaymentTerms {
  /** `reverted`: the chain reverted the payment. Its used part stays used if it lands again. */
  readonly state: 'open' | 'busy' | 'spent' | 'late' | 'reverted'
  readonly remaining: bigint
}

export type Taken =
  | { readonly kind: 'granted'; readonly grant: Grant; readonly remaining: bigint }
  /** The whole rest is under other leases. `hasSlices`: a part of it is in slices, which return soon if they are unused. */
  | { readonly kind: 'busy'; readonly hasSlices?: boolean }
  /** Used up, delivered too often, expired, or refunded. */
  | { readonly kind: 'spent' }
  /** The transaction paid another requestId. */
  | { readonly kind: 'foreign' }
  /** Not registered, and the call has no record to register. */
  | { readonly kind: 'unknown' }

export interface Take {
  readonly tx: Uint8Array
  /** Pseudonym of the requestId in the proof. */
  readonly request: string
  /** Registers the payment if it is new. Omitted if it is known to be registered. */
  readonly payment?: PaymentRecord
  /** The maximum wanted. The grant contains the actual amount. */
  readonly amount: bigint
  /** The first wanted position of a file. */
  readonly from?: bigint
  /** Takes a slice of a bundle instead of one use, if its remainder is large enough. */
  readonly isSlice?: boolean
  readonly leaseMs: number
}

/**
 * The durable record of payments and grants, and the only state on which all replicas must agree.
 *
 * It guarantees that each part of an allowance has at most one live grant and no grant after it was settled, and that
 * an acknowledged change survives a crash. A store that cannot be reached throws `LedgerUnavailable`.
 */
export interface Ledger {
  /** The database and the version of its schema. Undefined for a ledger without one. */
  readonly storage?: { readonly kind: 'sqlite' | 'postgres'; readonly version: number }
  /** The ledger's own clock for leases, if it has one. The service then uses the same clock. */
  readonly clock?: Clock
  /** Further records about payments, in the same store. */
  readonly journal: Journal
  /** Sums and lists of payments. */
  readonly books: Books
  /** Small short-lived values that all servers share. */
  readonly kv: KeyValueStore
  /** Events for webhooks. */
  readonly events: LedgerEvents
  /** The payees' shares of payments. */
  readonly rewards: Rewards
  /** Outgoing transactions. */
  readonly outgoing: OutgoingTransactions
  /** Accepted rates. */
  readonly rates: RateJournal
  /** Transactions that the service sends for the clients of other protocols. */
  readonly submissions: Submissions
  peek(tx: Uint8Array): Promise<PaymentStatus | undefined>
  /** Registers a payment and takes a grant in one atomic step. */
  take(take: Take): Promise<Taken>
  /** Extends a lease. False if it was lost, or its payment was reverted. */
  renew(grant: Grant, leaseMs: number): Promise<boolean>
  /**
   * Consumes the used bytes of a grant permanently, `used` in total since its start, and holds up to `more` further
   * ones. Returns the number held, 0 if nothing is left, or undefined without a change if the lease was lost or its
   * payment was reverted. Repeating a call, for example after a lost response, consumes nothing more.
   */
  advance(grant: Grant, used: bigint, more: bigint): Promise<bigint | undefined>
  /**
   * Records the ended uses of a slice, and fills it up or returns its rest. Undefined without a change if the lease was
   * lost. Repeating a call records nothing more.
   */
  reportSlice(grant: Grant, report: SliceReport): Promise<SliceState | undefined>
  /**
   * Ends a grant: consumes `used` since its start and returns the rest. False without a change if the lease was lost.
   */
  end(grant: Grant, outcome: DeliveryOutcome, used: bigint): Promise<boolean>
  /** Records a late payment, so that the operator can see and refund it. It does not prevent a later valid use. */
  recordLate(payment: PaymentRecord): Promise<void>
  close(): Promise<void>
}

/** The store cannot be reached or cannot guarantee durability now. The outcome of the call is unknown. */
export class LedgerUnavailable extends PaystileError {
  override readonly name = 'LedgerUnavailable'
  constructor(message: string, options?: ErrorOptions) {
    super('ledger_unavailable', message, options)
  }
}
