/** What happens at the paywall, told to whoever listens. */

import type { Consequence } from '../core/delivery.ts'
import type { RefusalCode } from '../core/errors.ts'
import type { TokenCode } from '../core/network.ts'

export type PaywallEvent =
  | {
      readonly kind: 'challenged'
      readonly method: string
      readonly target: string
      readonly requestId: string
      readonly amount: string
      readonly token: TokenCode
    }
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
  | { readonly kind: 'ended'; readonly target: string; readonly tx: string; readonly consequence: Consequence }
