/** The errors of the paying client. Every message is one sentence, followed by the next step if there is one. */
import { PaystileError } from '../core/errors/paystile-error.ts'

export const paymentErrorCodes = [
  /** The policy or the approver does not allow this payment. Nothing was signed. */
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
  /** The payment is not possible at present. Nothing was signed. */
  'insufficient_funds',
  'server_unavailable',
  'chain_unavailable',
  'wrong_chain',
  'body_not_replayable',
  /** A transaction was signed. The message states the consequence for the money. */
  'payment_failed',
  'payment_unknown',
  'payment_refused',
  'paid_not_delivered',
  'redirect_refused',
  /** The purchased bytes ended before the resource did. The caller received all of them. */
  'allowance_exhausted',
] as const
export type PaymentErrorCode = (typeof paymentErrorCodes)[number]

export interface PaymentErrorFacts {
  readonly requestId?: string
  readonly tx?: string
  /** The complete `Payment-Proof` header, if the payment was made and may still be usable. */
  readonly proof?: string
  /** The server's error code, if it refused. */
  readonly refusal?: string
  readonly status?: number
  /** Whether the signed payment is certain never to take effect. */
  readonly isOver?: boolean
  /** With `allowance_exhausted`: the position of the next byte in the resource. */
  readonly offset?: number
  /** With `allowance_exhausted`: the size of the whole resource, if it is known. */
  readonly size?: number
  /** With `allowance_exhausted` of a download: whether the next call resumes there. */
  readonly resumable?: boolean
}

export class PaymentError extends PaystileError {
  override readonly name = 'PaymentError'
  declare readonly code: PaymentErrorCode
  readonly facts: PaymentErrorFacts
  constructor(code: PaymentErrorCode, message: string, facts: PaymentErrorFacts = {}, options?: ErrorOptions) {
    super(code, message, options)
    this.facts = facts
  }
}

/** The journal of payments is not usable. The message states the action to take. */
export class JournalError extends PaystileError {
  override readonly name = 'JournalError'
  constructor(message: string, options?: ErrorOptions) {
    super('journal_unusable', message, options)
  }
}
