/** What a paid answer says of itself: its receipt, what is left, and that it is nobody else's. */
import { allowanceHeader, formatAllowanceLeft, isOneRequest } from '../../core/payment/allowance.ts'
import { statusHeader } from '../../core/payment/delivery.ts'
import { formatReceipt, receiptHeader } from '../../core/protocol/receipt.ts'
import type { Admission } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'

/** A longer address is not repeated in a receipt, and there is none then. */
const longestResource = 1_024

/** `amount` is what was received, for people: "0.01". */
export function paidHeaders(
  status: number,
  { runtime, route, incoming, proof }: Claim,
  admission: Admission,
  amount: string,
): Readonly<Record<string, string>> {
  if (status >= 500) return { [statusHeader]: 'retry', 'Cache-Control': 'no-store' }
  const headers = { 'Cache-Control': 'private, no-store', Vary: 'Payment-Proof' }
  const resource = `${route.config.publicUrl ?? incoming.origin()}${incoming.target}`
  // A header that is too long for somebody on the way would cost the whole answer.
  if (status >= 400 || resource.length > longestResource) return headers
  const receipt = {
    status: 'success',
    method: 'solana',
    reference: proof.tx,
    timestamp: new Date(runtime.clock.now()).toISOString(),
    requestId: proof.requestId,
    resource,
    token: admission.token,
    amount,
    payer: admission.payer,
  } as const
  return {
    ...headers,
    [receiptHeader]: formatReceipt(receipt, runtime.identity.sign),
    [allowanceHeader]: allowanceLeft(admission),
  }
}

/** Of requests and windows what is left after this response, of bytes and files before its body. */
function allowanceLeft({ allowance, grant, remaining, usableUntil }: Admission): string {
  const { unit } = allowance
  const held = unit === 'byte' ? (grant?.amount ?? 0n) : 0n
  const until = isOneRequest(allowance) ? {} : { until: new Date(usableUntil).toISOString() }
  return formatAllowanceLeft({ unit, remaining: remaining + held, ...until })
}
