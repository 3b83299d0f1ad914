/** The price of an offer in words. */
import { describeAllowance } from '../../look/allowances.ts'
import { formatAmount } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Offer } from '../data/answers.ts'

/** What the price buys. Programs buy one request also of a route that a browser can open again. */
export function formatUnit({ per, reopenSeconds }: Pick<Offer, 'per' | 'reopenSeconds'>): string {
  const unit = formatPer(per)
  return reopenSeconds === undefined
    ? unit
    : `${unit}, reopened in a browser for ${describeAllowance('second', String(reopenSeconds))}`
}

function formatPer({ unit, amount }: Offer['per']): string {
  if (unit === 'byte') return 'a megabyte'
  if (amount === 1) return `a ${unit}`
  return describeAllowance(unit, String(amount))
}

export function formatPrice({ price, token }: Pick<Offer, 'price' | 'token'>): string {
  return price === null ? `in ${token}, by request` : `${formatAmount(price, pageLocale())} ${token}`
}
