/**
 * All refusals: each has a stable code, a status, and whether the same proof may be sent again.
 *
 * A code is never renamed, because clients branch on it. `docs/errors.md` lists all codes, and a test compares the two.
 */
import { asciiJson } from '../http/http.ts'
import { formatUnits } from '../money/money.ts'
import type { TokenCode } from '../money/tokens.ts'

export interface RefusalRow {
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly retryAfterSeconds?: number
}

const no = (status: number, title: string): RefusalRow => ({ status, title, retryable: false })
const again = (status: number, title: string, retryAfterSeconds = 1): RefusalRow => ({
  status,
  title,
  retryable: true,
  retryAfterSeconds,
})

export const refusals = {
  proof_malformed: no(403, 'The Payment-Proof header cannot be read.'),
  unknown_request: no(403, 'This service did not issue that requestId. Request a new challenge.'),
  binding_mismatch: no(403, 'The payment was quoted for another request.'),
  claim_required: no(403, 'The proof must contain the claim secret of the payment.'),
  claim_invalid: no(403, 'The claim secret is not that of the payment.'),
  signature_required: no(403, 'The proof must contain ts and sig, signed by the payer.'),
  signature_invalid: no(403, 'The signature in the proof is invalid.'),
  payer_mismatch: no(403, 'Another wallet made the payment.'),
  tx_not_found: again(403, 'The transaction is not visible on chain yet.'),
  tx_not_final: again(403, 'The transaction is not final enough for this price yet.', 5),
  tx_failed: no(403, 'The transaction failed on chain.'),
  memo_mismatch: no(403, 'No memo of the transaction equals the requestId.'),
  wrong_recipient: no(403, 'The transaction paid another recipient.'),
  wrong_destination: no(403, "The transaction did not pay into the recipient's associated token account."),
  wrong_mint: no(403, 'The transaction paid in a token that is not accepted.'),
  no_transfer: no(403, 'The transaction contains no transfer from the payer.'),
  underpaid: no(403, 'The payment is smaller than the price.'),
  self_payment: no(403, 'The recipient paid itself.'),
  unsupported_transfer: no(403, 'This kind of transfer cannot be verified.'),
  payment_expired: no(403, 'The payment was made or claimed too late.'),
  transaction_invalid: no(403, 'The submitted transaction cannot be accepted.'),
  quote_expired: no(403, 'The challenge has expired. Request a new one.'),
  range_mismatch: no(409, 'The resource did not send the requested range. Request the whole resource.'),
  parameter_repeated: no(400, 'A parameter or header that determines the price appears more than once. Send it once.'),
  body_too_long: no(413, 'The request body is too long for this resource.'),
  body_incomplete: again(400, 'The request body ended early.'),
  payment_in_progress: again(409, 'Another request is using this payment.'),
  payment_replay: no(409, 'This payment has already been used.'),
  rate_limited: again(429, 'Too many payment attempts. Wait before the next one.', 10),
  handler_failed: again(502, 'The resource failed. The payment remains valid.'),
  chain_unavailable: again(503, 'The chain cannot be read at the moment.', 2),
  chain_disagreement: again(503, 'The chain nodes contradict each other at the moment.', 2),
  settlement_pending: again(503, 'The payment was sent but is not confirmed yet. Send the same request again.', 2),
  sponsor_exhausted: again(503, 'The service pays no more network fees at the moment.', 60),
  ledger_unavailable: again(503, 'The payment ledger is unavailable at the moment.', 2),
  resource_unavailable: again(503, 'The resource is unavailable at the moment. The payment was not used.', 5),
  shutting_down: again(503, 'This server is shutting down. Send the request again.'),
  not_priced: again(503, 'The price is unavailable at the moment.', 5),
  route_unknown: again(503, 'This server does not know the paid route yet.', 5),
} as const satisfies Record<string, RefusalRow>

export type RefusalCode = keyof typeof refusals

export interface Refusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  /** One sentence for the human reader. It never contains secrets, node addresses or SQL. */
  readonly detail?: string
  readonly shortfall?: Shortfall
  /** Overrides the table's status: a resource that does not answer in time is a 504. */
  readonly status?: 502 | 504
  /** Overrides the table's time. */
  readonly retryAfterSeconds?: number
  /**
   * The service cannot verify this claim. It counts against the client's rate limit, although the cause may be the
   * service.
   */
  readonly isCostly?: boolean
}

export interface Shortfall {
  readonly token: TokenCode
  readonly decimals: number
  readonly required: bigint
  readonly received: bigint
}

export function refuse(code: RefusalCode, more: Omit<Refusal, 'kind' | 'code'> = {}): Refusal {
  return { kind: 'refused', code, ...more }
}

/** Facts of a problem besides the refusal. Another protocol replaces the status and the type. */
export interface ProblemFacts {
  readonly requestId?: string | undefined
  readonly tx?: string | undefined
  readonly status?: number
  readonly type?: string
}

/** Writes the body of a refusal: RFC 9457 with paystile's own members. */
export function formatProblem(refusal: Refusal, { requestId, tx, status, type }: ProblemFacts = {}): string {
  const row: RefusalRow = refusals[refusal.code]
  const { shortfall } = refusal
  return asciiJson({
    type: type ?? `urn:paystile:problem:${refusal.code}`,
    title: row.title,
    status: status ?? refusal.status ?? row.status,
    detail: refusal.detail ?? row.title,
    code: refusal.code,
    retryable: row.retryable,
    requestId,
    tx,
    ...(refusal.code === 'handler_failed' && { paid: true }),
    ...(shortfall && {
      token: shortfall.token,
      required: formatUnits(shortfall.required, shortfall.decimals),
      received: formatUnits(shortfall.received, shortfall.decimals),
    }),
  })
}
