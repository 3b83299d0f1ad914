/** The price of an offer in words. */
import { describeAllowance } from '../../look/allowances.ts'
import { formatAmount } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Offer } from '../data/answers.ts'

export function formatUnit({ per: { unit, amount } }: Pick<Offer, 'per'>): string {
  if (unit === 'byte') return 'a megabyte'
  if (amount === 1) return `a ${unit}`
  return describeAllowance(unit, String(amount))
}

export function formatPrice({ price, token }: Pick<Offer, 'price' | 'token'>): string {
  return price === null ? `in ${token}, by request` : `${formatAmount(price, pageLocale())} ${token}`
}
