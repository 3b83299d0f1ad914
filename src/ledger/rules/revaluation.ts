/** What a payment is worth in another report token, by the rates that were frozen with it. */
import type { TokenCode } from '../../core/money/tokens.ts'
import { computeValue } from '../../core/money/valuation.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'

/**
 * Without rates nothing can be reckoned anew: then what was reckoned stays as long as the report token does, and is given
 * up with it.
 */
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
 * A payment as the books take it. `given` is the token in which its server reckons, `kept` that of the books: they differ
 * where the books were rebuilt in another one while the server ran. Nobody is turned away for that.
 */
export function reckoned(
  payment: PaymentRecord,
  given: TokenCode | undefined,
  kept: TokenCode | undefined,
): PaymentRecord {
  if (given === undefined || kept === undefined || given === kept) return payment
  return { ...payment, worth: revalued(payment, given, kept) }
}
