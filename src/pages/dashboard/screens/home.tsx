/** The overview: revenue, its sources, and payments as they arrive. One request loads it. */
import { useEffect } from 'preact/hooks'
import { formatPeriodBefore, type Period, periodBefore } from '../../look/periods.ts'
import { FunnelBars, sortTokens, TokenBars } from '../charts/bars.tsx'
import { RevenueChart } from '../charts/chart.tsx'
import { readGross, readRefunded, revenueColumns } from '../charts/revenue.tsx'
import { Tiles } from '../charts/tiles.tsx'
import { type Loaded, news, useAnswer } from '../data/answer.ts'
import type { Overview, Summary } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress } from '../data/route.ts'
import { zone } from '../data/settings.ts'
import { takeStatus } from '../data/status.ts'
import { Card } from '../elements/card.tsx'
import { Count } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { InTurn, Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { Feed } from '../tables/live-payments.tsx'
import { CountOf } from '../tables/totals.tsx'
import { FirstSteps } from './first-steps.tsx'
import { ScreenHead } from './shell.tsx'

/** As high as the content of a card. */
const cardLines = 7
const mostEndpoints = 6

export function Home() {
  // All time has no period before it and no chart.
  const period = usePeriod(false)
  const { from, to } = period
  const before = periodBefore(period, zone.value)?.from
  const loaded = useAnswer<Overview>(formatPath('/api/analytics/overview', { from, to, before }), { follows: news })
  const { value } = loaded
  useEffect(() => {
    if (value) takeStatus(value.status)
  }, [value])
  const isNew = value !== undefined && !value.setup.hasPayments && value.records.length === 0
  return (
    <>
      <ScreenHead title="Home">{!isNew && <PeriodBar period={period} />}</ScreenHead>
      {isNew ? (
        <FirstSteps setup={value.setup} />
      ) : (
        <>
          <Figures loaded={loaded} period={period} />
          <InTurn isAtOnce={value !== undefined}>
            <Feed loaded={loaded} />
          </InTurn>
        </>
      )}
    </>
  )
}

function Figures({ loaded, period }: { readonly loaded: Loaded<Overview>; readonly period: Period }) {
  const { value } = loaded
  return (
    <>
      <div class="framed figures">
        <When loaded={loaded} lines={2}>
          {({ summary }) => <Tiles summary={summary} previous={summary.previous} than={formatPeriodBefore(period)} />}
        </When>
      </div>
      <div class="grid">
        <div class="grid-main">
          <RevenueChart period={period} loaded={loaded} />
        </div>
        <InTurn isAtOnce={value !== undefined}>
          <Card id="funnel" title="From request to delivery">
            <When loaded={loaded} lines={cardLines} isQuiet>
              {({ summary }) => <FunnelBars funnel={summary.funnel} />}
            </When>
          </Card>
        </InTurn>
        <InTurn isAtOnce={value !== undefined}>
          <Card
            id="top"
            title="Top endpoints"
            class="grid-main"
            aside={
              <>
                <Link href={formatAddress('endpoints')} class="card-link">
                  All endpoints
                </Link>
                <CsvButton name="top-endpoints" rows={() => endpointCells(value?.summary)} isQuiet />
              </>
            }
          >
            <When loaded={loaded} lines={cardLines} isQuiet>
              {({ summary }) => <TopEndpoints summary={summary} />}
            </When>
          </Card>
        </InTurn>
        <InTurn isAtOnce={value !== undefined}>
          <Card id="tokens" title="By token" tools={<CsvButton name="tokens" rows={() => tokenCells(value)} isQuiet />}>
            <When loaded={loaded} lines={cardLines} isQuiet>
              {(overview) => <TokenCard overview={overview} />}
            </When>
          </Card>
        </InTurn>
      </div>
    </>
  )
}

function endpointCells(summary: Summary | undefined): readonly (readonly string[])[] {
  const lines = summary?.topEndpoints ?? []
  return [
    ['endpoint', 'calls', 'payments', 'revenue', 'revenueToken', 'gross', 'refunded'],
    ...lines.map((one) => [
      ...[one.path, `${one.calls}`, `${one.payments}`, one.revenue, summary?.revenueToken ?? ''],
      ...[readGross(one), readRefunded(one)],
    ]),
  ]
}

function tokenCells(overview: Overview | undefined): readonly (readonly string[])[] {
  const lines = sortTokens(overview?.tokens ?? [])
  return [
    ['token', 'payments', 'received', 'revenue', 'revenueToken', 'share', 'sentBack', 'gross', 'refunded'],
    ...lines.map((one) => [
      one.token,
      `${one.payments}`,
      one.received,
      one.revenue,
      overview?.summary.revenueToken ?? '',
      one.share,
      ...[one.sentBack ?? '0', readGross(one), readRefunded(one)],
    ]),
  ]
}

function TokenCard({ overview: { tokens, summary } }: { readonly overview: Overview }) {
  return (
    <>
      <TokenBars tokens={tokens} revenueToken={summary.revenueToken} />
      {summary.unvalued > 0 && (
        <p class="card-note muted">
          The revenue excludes <CountOf count={summary.unvalued} one="payment" /> that had no rate when paid.
        </p>
      )}
    </>
  )
}

function TopEndpoints({ summary: { topEndpoints, revenueToken } }: { readonly summary: Summary }) {
  if (topEndpoints.length === 0)
    return (
      <Notice title="No payments in this period">
        <p>Choose a longer one above.</p>
      </Notice>
    )
  const rows = topEndpoints.slice(0, mostEndpoints)
  const columns: readonly Column<Summary['topEndpoints'][number]>[] = [
    {
      name: 'Endpoint',
      cellClass: 'endpoint',
      cell: ({ path }) => (
        <Link href={formatAddress('endpoint', { name: path })} class="row-link">
          {path}
        </Link>
      ),
      title: ({ path }) => path,
    },
    { name: 'Calls', class: 'number wide', cell: ({ calls }) => <Count count={calls} /> },
    { name: 'Payments', class: 'number', cell: ({ payments }) => <Count count={payments} /> },
    ...revenueColumns(rows, revenueToken),
  ]
  return <Table caption="Endpoints with the most revenue" columns={columns} rows={rows} rowKey={({ path }) => path} />
}
