/** The overview: revenue, its sources, and payments as they arrive. */

import { type Period, periodBefore, periodWords } from '../../look/periods.ts'
import { FunnelBars, TokenBars } from '../charts/bars.tsx'
import { RevenueChart } from '../charts/chart.tsx'
import { readGross, readRefunded, revenueColumns } from '../charts/revenue.tsx'
import { Tiles } from '../charts/tiles.tsx'
import { news, useAnswer } from '../data/answer.ts'
import type { Analytics, Summary } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress } from '../data/route.ts'
import { Card } from '../elements/card.tsx'
import { Count } from '../elements/cells.tsx'
import { CsvButton } from '../elements/export.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { Feed } from '../tables/live-payments.tsx'
import { ScreenHead } from './shell.tsx'

export function Home() {
  // All time has no period before it and no chart.
  const period = usePeriod('7d', false)
  const { from, to } = period
  const loaded = useAnswer<Summary>(formatPath('/api/analytics', { from, to }), { follows: news })
  const tokens = useAnswer<Analytics>(formatPath('/analytics', { view: 'tokens', from, to }), { follows: news })
  return (
    <>
      <ScreenHead title="Home">
        <PeriodBar period={period} />
      </ScreenHead>
      <div class={loaded.value ? undefined : 'card'}>
        <When loaded={loaded} lines={3}>
          {(summary) => <Figures summary={summary} period={period} />}
        </When>
      </div>
      <div class="grid">
        <div class="grid-main">
          <RevenueChart period={period} />
        </div>
        <Card id="funnel" title="From request to delivery">
          <When loaded={loaded}>{({ funnel }) => <FunnelBars funnel={funnel} />}</When>
        </Card>
        <Card
          id="top"
          title="Top endpoints"
          class="grid-main"
          aside={
            <>
              <Link href={formatAddress('endpoints')} class="card-link">
                All endpoints
              </Link>
              <CsvButton name="top-endpoints" rows={() => endpointCells(loaded.value)} isQuiet />
            </>
          }
        >
          <When loaded={loaded}>{(summary) => <TopEndpoints summary={summary} />}</When>
        </Card>
        <Card
          id="tokens"
          title="By token"
          tools={<CsvButton name="tokens" rows={() => tokenCells(tokens.value)} isQuiet />}
        >
          <When loaded={tokens}>
            {({ tokens: lines = [], revenueToken }) => <TokenBars tokens={lines} revenueToken={revenueToken} />}
          </When>
        </Card>
      </div>
      <Feed />
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

function tokenCells(answer: Analytics | undefined): readonly (readonly string[])[] {
  const lines = answer?.tokens ?? []
  return [
    ['token', 'payments', 'received', 'revenue', 'revenueToken', 'share', 'sentBack', 'gross', 'refunded'],
    ...lines.map((one) => [
      one.token,
      `${one.payments}`,
      one.received,
      one.revenue,
      answer?.revenueToken ?? '',
      one.share,
      ...[one.sentBack ?? '0', readGross(one), readRefunded(one)],
    ]),
  ]
}

function Figures({ summary, period }: { readonly summary: Summary; readonly period: Period }) {
  const before = periodBefore(period)
  // An older service reports the period before only on request.
  const path = summary.previous || !before ? undefined : formatPath('/api/analytics', before)
  const { value } = useAnswer<Summary>(path)
  return (
    <>
      <Tiles summary={summary} previous={summary.previous ?? value} than={periodWords(period)} />
      {summary.unvalued > 0 && (
        <p class="aside">
          <Count count={summary.unvalued} /> payments had no rate when they were paid, so the revenue excludes them.
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
  const columns: readonly Column<Summary['topEndpoints'][number]>[] = [
    {
      name: 'Endpoint',
      cellClass: 'endpoint',
      cell: ({ path }) => (
        <Link href={formatAddress('payments', { endpoint: path })} class="row-link">
          {path}
        </Link>
      ),
      title: ({ path }) => path,
    },
    { name: 'Calls', class: 'number wide', cell: ({ calls }) => <Count count={calls} /> },
    { name: 'Payments', class: 'number', cell: ({ payments }) => <Count count={payments} /> },
    ...revenueColumns(topEndpoints, revenueToken),
  ]
  return (
    <Table
      caption="Endpoints with the most payments"
      columns={columns}
      rows={topEndpoints.slice(0, 6)}
      rowKey={({ path }) => path}
    />
  )
}
