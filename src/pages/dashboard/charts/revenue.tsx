/** Revenue beside what it is made of: what was earned, and what was sent back. */
import { formatAmount, formatRounded } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Revenue } from '../data/answers.ts'
import type { Column } from '../elements/table.tsx'

/** An older service tells of no refunds. */
export function grossOf({ revenue, gross }: Revenue): string {
  return gross ?? revenue
}

export function refundedOf({ refunded }: Pick<Revenue, 'refunded'>): string {
  return refunded ?? '0'
}

export function isRefunded(line: Pick<Revenue, 'refunded'>): boolean {
  return compareDecimals(refundedOf(line), '0') !== 0
}

/** Undefined where nothing was sent back: then there is nothing to tell apart. */
export function refundWords(line: Revenue): string | undefined {
  if (!isRefunded(line)) return undefined
  const locale = pageLocale()
  return `${formatRounded(grossOf(line), locale)} earned, ${formatRounded(refundedOf(line), locale)} refunded`
}

/** Two columns before that of the revenue, where any line has something to show in them. */
export function refundColumns(lines: readonly Revenue[]): readonly Column[] {
  return lines.some(isRefunded)
    ? [
        ['Earned', 'number wide'],
        ['Refunded', 'number wide'],
      ]
    : []
}

export function RefundCells({ line, lines }: { readonly line: Revenue; readonly lines: readonly Revenue[] }) {
  if (!lines.some(isRefunded)) return null
  const locale = pageLocale()
  return (
    <>
      <td class="number wide" title={formatAmount(grossOf(line), locale)}>
        {formatRounded(grossOf(line), locale)}
      </td>
      <td class="number wide" title={formatAmount(refundedOf(line), locale)}>
        {formatRounded(refundedOf(line), locale)}
      </td>
    </>
  )
}

/** With all digits, for who points at it. */
export function exactRevenue(line: Revenue, token: string): string {
  const locale = pageLocale()
  const net = `${formatAmount(line.revenue, locale)} ${token}`
  if (!isRefunded(line)) return net
  return `${net}: ${formatAmount(grossOf(line), locale)} earned, ${formatAmount(refundedOf(line), locale)} refunded`
}
