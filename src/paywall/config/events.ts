/** The events of the paywall, for the option `onEvent`. */
import type { TokenCode } from '../../core/money/tokens.ts'
import type { DeliveryOutcome } from '../../core/payment/delivery.ts'
import type { RefusalCode } from '../../core/payment/refusals.ts'

export type PaywallEvent =
  | {
      readonly kind: 'challenged'
      readonly method: string
      readonly target: string
      readonly requestId: string
      readonly amount: string
      readonly token: TokenCode
    }
  /** Admitted without payment, within the free quota. */
  | { readonly kind: 'free'; readonly method: string; readonly target: string }
  | { readonly kind: 'refused'; readonly method: string; readonly target: string; readonly code: RefusalCode }
  | {
      readonly kind: 'verified'
      readonly method: string
      readonly target: string
      readonly tx: string
      readonly amount: string
      readonly token: TokenCode
      /** The payer's pseudonym. */
      readonly payer: string
      /** False if the ledger already had the payment. */
      readonly first: boolean
    }
  /**
   * A payment to the recipient on chain, with or without a proof. Without `requestId`, its memo is not a requestId of
   * this service.
   */
  | {
      readonly kind: 'seen'
      readonly tx: string
      readonly recipient: string
      readonly amount: string
      readonly token: TokenCode
      readonly requestId?: string
    }
  /** The chain can no longer revert the payment. */
  | { readonly kind: 'finalized'; readonly tx: string }
  /** The chain reverted a payment, so its deliveries are unpaid. */
  | { readonly kind: 'reverted'; readonly tx: string }
  | { readonly kind: 'ended'; readonly target: string; readonly tx: string; readonly outcome: DeliveryOutcome }
