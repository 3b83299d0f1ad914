/** From the client's errors to exit codes. */
import type { PaymentErrorCode } from '../client/errors.ts'
import { type ExitCode, exitCodes } from './output.ts'

const codes: Readonly<Record<PaymentErrorCode, ExitCode>> = {
  price_too_high: exitCodes.declined,
  budget_exceeded: exitCodes.declined,
  token_not_allowed: exitCodes.declined,
  recipient_not_allowed: exitCodes.declined,
  mint_not_allowed: exitCodes.declined,
  network_not_allowed: exitCodes.declined,
  wrong_origin: exitCodes.declined,
  insecure_url: exitCodes.declined,
  challenge_expiring: exitCodes.declined,
  declined: exitCodes.declined,
  insufficient_funds: exitCodes.wallet,
  chain_unavailable: exitCodes.unreachable,
  wrong_chain: exitCodes.declined,
  body_not_replayable: exitCodes.usage,
  payment_failed: exitCodes.refused,
  payment_unknown: exitCodes.undelivered,
  payment_refused: exitCodes.refused,
  paid_not_delivered: exitCodes.undelivered,
  redirect_refused: exitCodes.refused,
}

export function exitCodeOf(code: PaymentErrorCode): ExitCode {
  return codes[code]
}
