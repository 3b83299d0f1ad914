/** Requests, payments and deliveries of each endpoint. */
import { formatShare } from '../../look/amounts.ts'
import { compareDecimals } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import { compareRevenue, readGross, readRefunded, revenueColumns, revenueKeys } from '../charts/revenue.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Analytics, Revenue, RevenueLine, UsageLine } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { change, formatAddress, place } from '../data/route.ts'
import { type Order, readOrder, sortRows, turnOrder, writeOrder } from '../data/sorting.ts'
import { Conversion, Count } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoneInPeriod, When } from '../elements/states.tsx'
import { type Column, type Sorting, Table } from '../elements/table.tsx'
import { CountOf, ListTotals } from '../tables/totals.tsx'
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

const keys = ['endpoint', 'challenged', 'payments', 'conversion', 'calls', 'delivered', ...revenueKeys] as const
type Key = (typeof keys)[number]

function compareLines(key: Key): (one: Line, other: Line) => number {
  if (key === 'endpoint') return (one, other) => one.endpoint.localeCompare(other.endpoint)
  const revenueKey = revenueKeys.find((one) => one === key)
  if (revenueKey) return compareRevenue(revenueKey)
  // An endpoint without requests for payment has no conversion.
  return (one, other) => Number(one[key] ?? -1) - Number(other[key] ?? -1)
}

export function Endpoints() {
  const period = usePeriod()
  const { from, to } = period
  const path = formatPath('/analytics', { view: 'usage,revenue', from, to })
  const loaded = useAnswer<Analytics>(path, { follows: calmNews })
  const order = readOrder(place.value.query.get('sort'), keys, { key: 'revenue', isUp: false })
  const joined = joinLines(loaded.value?.usage ?? [], loaded.value?.revenue ?? [])
  const lines = sortRows(joined, compareLines(order.key), order.isUp)
  const token = loaded.value?.revenueToken ?? ''
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
        <When loaded={loaded} lines={6}>
          {() =>
            lines.length === 0 ? (
              <NoneInPeriod title="No requests in this period" />
            ) : (
              <>
                <EndpointsTotals lines={lines} token={token} />
                <EndpointsTable lines={lines} token={token} order={order} />
              </>
            )
          }
        </When>
      </section>
    </>
  )
}

/** The service lists at most this many endpoints. */
const mostLines = 100

function EndpointsTotals({ lines, token }: Pick<EndpointsTableProps, 'lines' | 'token'>) {
  const isWhole = lines.length < mostLines
  // Other paths are one row without a name.
  const count = lines.filter(({ endpoint }) => endpoint !== '').length
  return (
    <ListTotals
      lines={isWhole ? lines : undefined}
      token={token}
      title={
        <>
          {!isWhole && 'At least '}
          <CountOf count={count} one="endpoint" />
        </>
      }
    >
      <CountOf count={lines.reduce((sum, { calls }) => sum + calls, 0)} one="call" />
    </ListTotals>
  )
}

interface EndpointsTableProps {
  readonly lines: readonly Line[]
  readonly token: string
  readonly order: Order<Key>
}

function EndpointsTable({ lines, token, order }: EndpointsTableProps) {
  const sort = (key: Key): Sorting => ({
    way: key !== order.key ? 'none' : order.isUp ? 'ascending' : 'descending',
    turn: () => change({ sort: writeOrder(turnOrder(order, key, key === 'endpoint')) }, { isReplacing: true }),
  })
  const columns: readonly Column<Line>[] = [
    {
      name: 'Endpoint',
      sorting: sort('endpoint'),
      cellClass: 'endpoint',
      cell: ({ endpoint, challenged, calls, conversion }) => {
        const more = (
          <span class="narrow">
            <Count count={challenged} /> asked, {formatShare(conversion, pageLocale())} paid, <Count count={calls} />{' '}
            calls
          </span>
        )
        // Other paths have no page.
        if (endpoint === '') return <span class="muted">other paths{more}</span>
        return (
          <Link href={formatAddress('endpoint', { name: endpoint })} class="row-link" row={endpoint}>
            {endpoint}
            {more}
          </Link>
        )
      },
      title: ({ endpoint }) => endpoint,
    },
    {
      name: 'Asked (402)',
      class: 'number wide',
      sorting: sort('challenged'),
      cell: ({ challenged }) => <Count count={challenged} />,
    },
    {
      name: 'Payments',
      class: 'number',
      sorting: sort('payments'),
      cell: ({ payments }) => <Count count={payments} />,
    },
    {
      name: 'Conversion',
      class: 'number wide',
      sorting: sort('conversion'),
      cell: ({ conversion }) => <Conversion share={conversion} />,
    },
    { name: 'Calls', class: 'number wide spare', sorting: sort('calls'), cell: ({ calls }) => <Count count={calls} /> },
    {
      name: 'Delivered',
      sorting: sort('delivered'),
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
    ...revenueColumns(lines, token, 'number', sort),
  ]
  return <Table class="many" caption="Endpoints" columns={columns} rows={lines} rowKey={({ endpoint }) => endpoint} />
}
