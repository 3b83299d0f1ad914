/** Converts a requestId to the required payment and its deadline. */
import { type Amounts, findDecimals, findMint, type MintTable, tokenCodes } from '../../core/money/tokens.ts'
import type { PaymentOption } from '../../core/payment/verify.ts'
import type { OpenedRequest } from '../../core/protocol/request-id.ts'
import type { TokenAccountOf } from '../runtime/runtime.ts'

/** Tolerance between the chain's clock and the service's. */
const driftSeconds = 60

/** The ways to pay, as sealed in the quote, independent of the current configuration. */
export async function paymentOptions(
  amounts: Amounts,
  mints: MintTable,
  recipient: string,
  tokenAccountOf: TokenAccountOf,
): Promise<readonly PaymentOption[]> {
  const options: PaymentOption[] = []
  for (const token of tokenCodes) {
    const units = amounts[token]
    const decimals = findDecimals(token, mints)
    if (units === undefined || decimals === undefined) continue
    const mint = findMint(token, mints)
    const destination = mint ? await tokenAccountOf(recipient, mint) : recipient
    options.push({ token, asset: mint?.address ?? 'SOL', decimals, units, destination })
  }
  return options
}

/**
 * The last second in which the payment had to land. There is no first second: a requestId is unknown before it is
 * issued, so a payment that looks earlier only shows that the clock of the issuing server was ahead.
 */
export function paymentWindow({ issuedAt, ttlSeconds }: OpenedRequest) {
  return { notAfter: issuedAt + ttlSeconds + driftSeconds }
}

/** The time, in milliseconds, until which a payment made in time can be claimed. */
export function claimableUntil(request: OpenedRequest, proofTtlSeconds: number): number {
  return (paymentWindow(request).notAfter + proofTtlSeconds) * 1000
}
