/** A payment in the payment list, and its history. */
import type { TokenCode } from '../money/tokens.ts'
import type { SplitPart } from './splits.ts'

/** The status of a payment in reports. */
export const paymentListStatuses = ['pending', 'confirmed', 'expired'] as const
export type PaymentListStatus = (typeof paymentListStatuses)[number]

/**
 * The reason why the service does not accept an observed payment. `not_on_chain`: a proof names the transaction, but no
 * node has returned it. `surplus`: it is above the price, or another payment has paid for its requestId.
 */
export const paymentFaults = ['not_on_chain', 'underpaid', 'late', 'surplus'] as const
export type PaymentFault = (typeof paymentFaults)[number]

/** One row of the payment list. */
export interface PaymentListItem {
  readonly tx: Uint8Array
  /** Time of its block, in milliseconds since 1970. */
  readonly at: number
  readonly request: string
  /** Pseudonym. Empty if the payer is unknown. */
  readonly payer: string
  readonly recipient: string
  readonly endpoint: string
  readonly token: TokenCode
  /** The amount that the recipient received. With the fault `not_on_chain`, the price. */
  readonly units: bigint
  /** The amounts that other wallets received in the same transaction. */
  readonly splits?: readonly SplitPart[]
  /** The recipient received the amounts of `splits` for them, as a part of `units`. */
  readonly isCollected?: boolean
  readonly worth: bigint | undefined
  readonly status: PaymentListStatus
  /** More precise than the status: `late`, `unclaimed` and `reverted` all have the status expired. */
  readonly state: 'unclaimed' | 'confirmed' | 'finalized' | 'late' | 'reverted'
  /** Undefined for a registered payment, and for one that only lacks a proof. */
  readonly fault?: PaymentFault | undefined
  /** Whether all, some or none of the purchase was delivered. */
  readonly delivery: 'none' | 'some' | 'all'
}

/** The events of a payment, in milliseconds since 1970. Undefined for events that did not happen or are unknown. */
export interface History {
  readonly payment: PaymentListItem
  readonly required: bigint | undefined
  /** The payment was seen on chain, not only named by a proof. */
  readonly isShown: boolean
  /** The time when the watcher recorded it. */
  readonly seenAt: number | undefined
  readonly registeredAt: number | undefined
  /** The ends of the first and of the last response that delivered content. */
  readonly deliveredAt: number | undefined
  readonly deliveredLast: number | undefined
  /** The time when a response delivered nothing. Undefined as soon as any response delivers content. */
  readonly undeliveredAt: number | undefined
  /** The time when the payment became final or was reverted. */
  readonly concludedAt: number | undefined
  /** The end of the claim period, for a payment that was only seen. */
  readonly claimableUntil: number | undefined
  /** The time when the refund was recorded. From then on, the payment buys nothing. */
  readonly refundedAt: number | undefined
}
