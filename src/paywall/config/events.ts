/** What happens at the paywall, told to whoever listens. */
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
  /** Let in without payment, within the free quota. */
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
      /** False when the ledger knew the payment already. */
      readonly first: boolean
    }
  /** A payment to the recipient on chain, with or without a proof. Without `requestId` its memo is none of ours. */
  | {
      readonly kind: 'seen'
      readonly tx: string
      readonly recipient: string
      readonly amount: string
      readonly token: TokenCode
      readonly requestId?: string
    }
  /** The chain can no longer take a payment back. */
  | { readonly kind: 'finalized'; readonly tx: string }
  /** The chain took a payment back: what was delivered for it was not paid. */
  | { readonly kind: 'reverted'; readonly tx: string }
  | { readonly kind: 'ended'; readonly target: string; readonly tx: string; readonly outcome: DeliveryOutcome }
