/** What is asked for, paid for and served, endpoint by endpoint. */
import { formatRounded, formatShare } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { exactRevenue, grossOf, RefundCells, refundColumns, refundedOf } from '../charts/revenue.tsx'
import { news, useAnswer } from '../data/answer.ts'
import type { Analytics, Revenue, RevenueLine, UsageLine } from '../data/answers.ts'
import { pathOf } from '../data/ask.ts'
import { addressOf } from '../data/route.ts'
import { Count } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

interface Line extends UsageLine, Revenue {
  readonly conversion: number | undefined
}

function revenueOf(line: RevenueLine | undefined): Revenue {
  return line ? { revenue: line.revenue, gross: grossOf(line), refunded: refundedOf(line) } : { revenue: '0' }
}

/** Usage and revenue come as two lists, each cut at its own end. */
function linesOf(usage: readonly UsageLine[], revenue: readonly RevenueLine[]): readonly Line[] {
  const earned = new Map(revenue.map((line) => [line.endpoint, line]))
  const used = new Set(usage.map(({ endpoint }) => endpoint))
  const nothing = { calls: 0, challenged: 0, free: 0, refused: 0, reused: 0, delivered: 0, undelivered: 0 }
  const others = revenue
    .filter(({ endpoint }) => !used.has(endpoint))
    .map(({ endpoint, payments }) => ({ ...nothing, endpoint, payments, calls: payments }))
  return [...usage, ...others]
    .map((line) => ({
      ...line,
      ...revenueOf(earned.get(line.endpoint)),
      conversion: line.challenged === 0 ? undefined : Math.min(1, line.payments / line.challenged),
    }))
    .sort((one, other) => compareDecimals(other.revenue, one.revenue) || other.calls - one.calls)
}

export function Endpoints() {
  const period = usePeriod('7d')
  const { from, to } = period
  const options = { follows: news }
  const usage = useAnswer<Analytics>(pathOf('/analytics', { view: 'usage', from, to }), options)
  const revenue = useAnswer<Analytics>(pathOf('/analytics', { view: 'revenue', from, to }), options)
  const lines = linesOf(usage.value?.usage ?? [], revenue.value?.revenue ?? [])
  const token = revenue.value?.revenueToken ?? ''
  const cells = () => [
    [
      'endpoint',
      'calls',
      'payments',
      'challenged',
      'conversion',
      'delivered',
      'undelivered',
      'revenue',
      'revenueToken',
      'gross',
      'refunded',
    ],
    ...lines.map((line) => [
      line.endpoint,
      ...[line.calls, line.payments, line.challenged].map(String),
      line.conversion === undefined ? '' : line.conversion.toFixed(4),
      ...[line.delivered, line.undelivered].map(String),
      ...[line.revenue, token, grossOf(line), refundedOf(line)],
    ]),
  ]
  return (
    <>
      <ScreenHead title="Endpoints">
        <PeriodBar period={period} hasAll />
        <CsvButton name="endpoints" rows={cells} />
      </ScreenHead>
      <section class="card" aria-label="All endpoints">
        <When loaded={usage} lines={6}>
          {() =>
            lines.length === 0 ? (
              <NoPayments what="Nobody asked for anything in this period" />
            ) : (
              <EndpointsTable lines={lines} token={token} />
            )
          }
        </When>
      </section>
    </>
  )
}

function EndpointsTable({ lines, token }: { readonly lines: readonly Line[]; readonly token: string }) {
  const locale = pageLocale()
  const columns: readonly Column[] = [
    ['Endpoint'],
    ['Asked (402)', 'number wide'],
    ['Payments', 'number'],
    ['Conversion', 'number wide'],
    ['Calls', 'number wide'],
    ['Delivered', 'number wide'],
    ...refundColumns(lines),
    [token ? `Revenue, ${token}` : 'Revenue', 'number'],
  ]
  return (
    <Table caption="Endpoints, those that earned most first" columns={columns}>
      {lines.map((line) => (
        <tr key={line.endpoint}>
          <td class="endpoint" title={line.endpoint}>
            <Link href={addressOf('payments', { endpoint: line.endpoint })} class="row-link" row={line.endpoint}>
              {line.endpoint}
            </Link>
          </td>
          <td class="number wide">
            <Count count={line.challenged} />
          </td>
          <td class="number">
            <Count count={line.payments} />
          </td>
          <td class="number wide">{formatShare(line.conversion, locale)}</td>
          <td class="number wide">
            <Count count={line.calls} />
          </td>
          <td class="number wide">
            <Count count={line.delivered} />
            {line.undelivered > 0 && (
              <span class="warn-text" title="Paid for, and not delivered">
                {' '}
                (−
                <Count count={line.undelivered} />)
              </span>
            )}
          </td>
          <RefundCells line={line} lines={lines} />
          <td class="number" title={exactRevenue(line, token)}>
            {formatRounded(line.revenue, locale)}
          </td>
        </tr>
      ))}
    </Table>
  )
}
