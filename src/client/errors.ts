/** What can go wrong for somebody who pays. Every message is one sentence and, where there is one, the next step. */
import { PaystileError } from '../core/errors/paystile-error.ts'

export const paymentErrorCodes = [
  /** The policy, or the person asked, does not allow this payment. Nothing was signed. */
  'price_too_high',
  'budget_exceeded',
  'token_not_allowed',
  'recipient_not_allowed',
  'mint_not_allowed',
  'network_not_allowed',
  'wrong_origin',
  'insecure_url',
  'challenge_expiring',
  'declined',
  /** The payment cannot be made as things are. Nothing was signed. */
  'insufficient_funds',
  'server_unavailable',
  'chain_unavailable',
  'wrong_chain',
  'body_not_replayable',
  /** Something was signed. What it means for the money is in the message. */
  'payment_failed',
  'payment_unknown',
  'payment_refused',
  'paid_not_delivered',
  'redirect_refused',
  /** The bytes that were paid for ended before the resource did. Those that came were given to the caller. */
  'allowance_exhausted',
] as const
export type PaymentErrorCode = (typeof paymentErrorCodes)[number]

export interface PaymentErrorFacts {
  readonly requestId?: string
  readonly tx?: string
  /** The whole `Payment-Proof` header, where the payment was made and may still be used. */
  readonly proof?: string
  /** The server's own code, where it refused. */
  readonly refusal?: string
  readonly status?: number
  /** With `allowance_exhausted`: the position of the next byte in the resource. */
  readonly offset?: number
  /** With `allowance_exhausted`: how long the whole resource is, where that is known. */
  readonly size?: number
  /** With `allowance_exhausted` of a download: whether the next call goes on there. */
  readonly resumable?: boolean
}

export class PaymentError extends PaystileError {
  override readonly name = 'PaymentError'
  declare readonly code: PaymentErrorCode
  readonly facts: PaymentErrorFacts
  constructor(code: PaymentErrorCode, message: string, facts: PaymentErrorFacts = {}) {
    super(code, message)
    this.facts = facts
  }
}

/** The journal of payments cannot be kept. The message says what to do. */
export class JournalError extends PaystileError {
  override readonly name = 'JournalError'
  constructor(message: string, options?: ErrorOptions) {
    super('journal_unusable', message, options)
  }
}
