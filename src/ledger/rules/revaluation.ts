/** Values a payment in another report token, at the rates that were frozen with it. */
import type { TokenCode } from '../../core/money/tokens.ts'
import { computeValue } from '../../core/money/valuation.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'

/** Without frozen rates, the stored value is kept if the report token stays the same, and dropped otherwise. */
export function revalued(
  { token, received, worth, rates }: Pick<PaymentRecord, 'token' | 'received' | 'worth' | 'rates'>,
  before: TokenCode | undefined,
  now: TokenCode,
): bigint | undefined {
  const decimals = rates?.decimals[token]
  if (rates && decimals !== undefined) return computeValue({ token, units: received, decimals }, now, rates.table)
  return before === now ? worth : undefined
}

/**
 * A payment as the books store it. `given` is the report token of its server and `kept` that of the books. They differ
 * if the books were rebuilt in another token while the server ran. The payment is accepted and revalued.
 */
export function reckoned(
  payment: PaymentRecord,
  given: TokenCode | undefined,
  kept: TokenCode | undefined,
): PaymentRecord {
  if (given === undefined || kept === undefined || given === kept) return payment
  return { ...payment, worth: revalued(payment, given, kept) }
}
