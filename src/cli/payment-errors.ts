/** The exit codes and texts of client errors on the command line. */
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
  server_unavailable: exitCodes.unreachable,
  chain_unavailable: exitCodes.unreachable,
  wrong_chain: exitCodes.declined,
  body_not_replayable: exitCodes.usage,
  payment_failed: exitCodes.refused,
  payment_unknown: exitCodes.undelivered,
  payment_refused: exitCodes.refused,
  paid_not_delivered: exitCodes.undelivered,
  redirect_refused: exitCodes.refused,
  allowance_exhausted: exitCodes.exhausted,
}

export function findExitCode(code: PaymentErrorCode): ExitCode {
  return codes[code]
}

const flags: Readonly<Record<string, string>> = {
  maxPrice: '--max',
  tokens: '--token',
  mints: '--mint',
  recipients: '--recipient',
  rpc: '--rpc',
  allowHttp: '--allow-http',
  timeoutMs: '--timeout',
  prepayBytes: '--prepay',
  buyMore: '--buy-more',
}

/** Replaces names of client options in a sentence by flags of the command line. */
export function nameFlags(message: string): string {
  const option = new RegExp(`(?<=^|\\s)(${Object.keys(flags).join('|')})(?:\\.(\\w+))?(?=[\\s,;.:]|$)`, 'g')
  return message.replace(option, (_all, name: string, token?: string) =>
    token === undefined ? (flags[name] ?? name) : `${flags[name]} ${token}=…`,
  )
}
