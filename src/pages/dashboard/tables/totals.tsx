/** The number of rows above a list, and their sums. */
import type { ComponentChildren } from 'preact'
import { formatRounded } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { addRevenue, exactRevenue, refundWords } from '../charts/revenue.tsx'
import type { Revenue } from '../data/answers.ts'
import { Count } from '../elements/cells.tsx'

interface ListTotalsProps {
  /** All rows of the list. Undefined if only some of them are loaded. */
  readonly lines: readonly (Revenue & { readonly payments: number })[] | undefined
  readonly token: string
  /** The number of rows. */
  readonly title: ComponentChildren
  /** Sums of other columns. */
  readonly children?: ComponentChildren
}

export function ListTotals({ lines, token, title, children }: ListTotalsProps) {
  return (
    <p class="list-totals">
      <b>{title}</b>
      {lines && (
        <>
          {children}
          <CountOf count={lines.reduce((sum, { payments }) => sum + payments, 0)} one="payment" />
          <RevenueTotal revenue={addRevenue(lines)} token={token} />
        </>
      )}
    </p>
  )
}

export function CountOf({ count, one }: { readonly count: number; readonly one: string }) {
  return (
    <span>
      <Count count={count} /> {count === 1 ? one : `${one}s`}
    </span>
  )
}

function RevenueTotal({ revenue, token }: { readonly revenue: Revenue; readonly token: string }) {
  const refunds = refundWords(revenue)
  return (
    <>
      <span title={exactRevenue(revenue, token)}>
        <b>
          {formatRounded(revenue.revenue, pageLocale())} {token}
        </b>{' '}
        revenue
      </span>
      {refunds !== undefined && <span class="muted">{refunds}</span>}
    </>
  )
}
