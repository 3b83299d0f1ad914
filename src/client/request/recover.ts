/** Completes a payment that was signed and not followed to its end. */
import { PaymentError } from '../errors.ts'
import type { Intent } from '../journal/journal.ts'
import { type ClientParts, connect, type PaidRequest } from './paid-request.ts'
import { land, payParts } from './pay.ts'

/** Undefined if the payment is certain never to land, so that a new one may be made. */
export async function recover(
  parts: ClientParts,
  paidRequest: PaidRequest,
  intent: Intent,
): Promise<Intent | undefined> {
  const connection = await connect(parts, paidRequest, intent.network, intent.genesis)
  try {
    return await land(payParts(parts, paidRequest, connection), intent)
  } catch (error) {
    if (error instanceof PaymentError && error.code === 'payment_failed') return undefined
    throw error
  }
}
