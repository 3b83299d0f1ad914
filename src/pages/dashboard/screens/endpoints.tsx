/** Requests, payments and deliveries of each endpoint. */
import { formatShare } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { readGross, readRefunded, revenueColumns } from '../charts/revenue.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Analytics, Revenue, RevenueLine, UsageLine } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress } from '../data/route.ts'
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

function readRevenue(line: RevenueLine | undefined): Revenue {
  return line ? { revenue: line.revenue, gross: readGross(line), refunded: readRefunded(line) } : { revenue: '0' }
}

/** Usage and revenue are two lists, each with its own limit. */
function joinLines(usage: readonly UsageLine[], revenue: readonly RevenueLine[]): readonly Line[] {
  const earned = new Map(revenue.map((line) => [line.endpoint, line]))
  const used = new Set(usage.map(({ endpoint }) => endpoint))
  const nothing = { calls: 0, challenged: 0, free: 0, refused: 0, reused: 0, delivered: 0, undelivered: 0 }
  const others = revenue
    .filter(({ endpoint }) => !used.has(endpoint))
    .map(({ endpoint, payments }) => ({ ...nothing, endpoint, payments, calls: payments }))
  return [...usage, ...others]
    .map((line) => ({
      ...line,
      ...readRevenue(earned.get(line.endpoint)),
      conversion: line.challenged === 0 ? undefined : Math.min(1, line.payments / line.challenged),
    }))
    .sort((one, other) => compareDecimals(other.revenue, one.revenue) || other.calls - one.calls)
}

export function Endpoints() {
  const period = usePeriod()
  const { from, to } = period
  const options = { follows: calmNews }
  const usage = useAnswer<Analytics>(formatPath('/analytics', { view: 'usage', from, to }), options)
  const revenue = useAnswer<Analytics>(formatPath('/analytics', { view: 'revenue', from, to }), options)
  const lines = joinLines(usage.value?.usage ?? [], revenue.value?.revenue ?? [])
  const token = revenue.value?.revenueToken ?? ''
  const cells = () => [
    [
      ...['endpoint', 'calls', 'payments', 'challenged', 'conversion', 'delivered', 'undelivered'],
      ...['revenue', 'revenueToken', 'gross', 'refunded'],
    ],
    ...lines.map((line) => [
      line.endpoint,
      ...[line.calls, line.payments, line.challenged].map(String),
      line.conversion === undefined ? '' : line.conversion.toFixed(4),
      ...[line.delivered, line.undelivered].map(String),
      ...[line.revenue, token, readGross(line), readRefunded(line)],
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
              <NoPayments what="No requests in this period" />
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
  const columns: readonly Column<Line>[] = [
    {
      name: 'Endpoint',
      cellClass: 'endpoint',
      cell: ({ endpoint, challenged, calls, conversion }) => (
        <Link href={formatAddress('payments', { endpoint })} class="row-link" row={endpoint}>
          {endpoint}
          <span class="narrow">
            <Count count={challenged} /> asked, {formatShare(conversion, pageLocale())} paid, <Count count={calls} />{' '}
            calls
          </span>
        </Link>
      ),
      title: ({ endpoint }) => endpoint,
    },
    { name: 'Asked (402)', class: 'number wide', cell: ({ challenged }) => <Count count={challenged} /> },
    { name: 'Payments', class: 'number', cell: ({ payments }) => <Count count={payments} /> },
    { name: 'Conversion', class: 'number wide', cell: ({ conversion }) => formatShare(conversion, pageLocale()) },
    { name: 'Calls', class: 'number wide', cell: ({ calls }) => <Count count={calls} /> },
    {
      name: 'Delivered',
      class: 'number wide',
      cell: ({ delivered, undelivered }) => (
        <>
          <Count count={delivered} />
          {undelivered > 0 && (
            <span class="warn-text" title="Paid but not delivered">
              {' '}
              (−
              <Count count={undelivered} />)
            </span>
          )}
        </>
      ),
    },
    ...revenueColumns(lines, token),
  ]
  return (
    <Table
      class="many"
      caption="Endpoints, by revenue"
      columns={columns}
      rows={lines}
      rowKey={({ endpoint }) => endpoint}
    />
  )
}
