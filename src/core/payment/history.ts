/** A payment as reports list it, and its history. */
import type { TokenCode } from '../money/tokens.ts'

/** The status of a payment in reports. */
export const paymentListStatuses = ['pending', 'confirmed', 'expired'] as const
export type PaymentListStatus = (typeof paymentListStatuses)[number]

/** A payment as it is listed. */
export interface PaymentListItem {
  readonly tx: Uint8Array
  /** Time of its block, in milliseconds since 1970. */
  readonly at: number
  readonly request: string
  /** Pseudonym; empty where it is not known. */
  readonly payer: string
  readonly recipient: string
  readonly endpoint: string
  readonly token: TokenCode
  readonly units: bigint
  readonly worth: bigint | undefined
  readonly status: PaymentListStatus
  /** More than the status tells: `late` and `unclaimed` are expired, `reverted` too. */
  readonly state: 'unclaimed' | 'confirmed' | 'finalized' | 'late' | 'reverted'
  /** Whether all that was bought was delivered, or some of it, or nothing. */
  readonly delivery: 'none' | 'some' | 'all'
}

/** What became of a payment, and when, in milliseconds since 1970; undefined for what did not happen or is not known. */
export interface History {
  readonly capture: PaymentListItem
  readonly required: bigint | undefined
  /** The chain has shown it, and not only a proof named it. */
  readonly isShown: boolean
  /** When the watcher noted it. */
  readonly seenAt: number | undefined
  readonly registeredAt: number | undefined
  /** The ends of the first response that brought something, and of the last. */
  readonly deliveredAt: number | undefined
  readonly deliveredLast: number | undefined
  /** Since when it is known that a response brought nothing, as long as none has. */
  readonly undeliveredAt: number | undefined
  /** When the chain could no longer take it back, or did. */
  readonly concludedAt: number | undefined
  /** Until when it can be claimed, of what was only seen. */
  readonly claimableUntil: number | undefined
  /** Since when it is refunded, or about to be: nothing can be taken of it any more. */
  readonly refundedAt: number | undefined
}
