/** Names what a payment buys. */
import { allowanceTexts, formatAllowance } from '../../core/checkout/languages/allowance-text.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import { pageLocale } from './locale.ts'

/** As the buyer reads it: `10 minutes`. */
export function describeAllowance(unit: Unit, amount: string): string {
  return formatAllowance({ unit, amount: BigInt(amount) }, { texts: { page: allowanceTexts }, locale: pageLocale() })
}
