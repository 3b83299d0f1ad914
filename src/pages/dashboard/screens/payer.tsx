/** One payer by pseudonym: its sums, its payments by day, and the latest of them. */
import { compareAmounts, formatCount, formatRounded, shorten } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { type Period, periodBefore, periodWords } from '../../look/periods.ts'
import { TokenBars } from '../charts/bars.tsx'
import { RevenueChart } from '../charts/chart.tsx'
import { exactRevenue, refundWords } from '../charts/revenue.tsx'
import { Tile } from '../charts/tiles.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { PayerPage } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress, place } from '../data/route.ts'
import { zone } from '../data/settings.ts'
import { Card } from '../elements/card.tsx'
import { Moment, Trend } from '../elements/cells.tsx'
import { IdLine } from '../elements/copy.tsx'
import { Fact } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, When } from '../elements/states.tsx'
import { PaymentsTable } from '../tables/payments.tsx'
import { ScreenHead } from './shell.tsx'

export function Payer() {
  const payer = place.value.query.get('name') ?? ''
  const period = usePeriod(false)
  const { from, to } = period
  const before = periodBefore(period, zone.value)?.from
  const path = formatPath('/api/analytics/payer', { payer, from, to, before })
  const loaded = useAnswer<PayerPage>(path, { follows: calmNews })
  const { value } = loaded
  return (
    <>
      <ScreenHead title={`Payer ${shorten(payer)}`} within={['payers', 'Payers']}>
        <PeriodBar period={period} />
      </ScreenHead>
      <div class={value ? undefined : 'card'}>
        <When loaded={loaded} lines={3}>
          {(page) => <Totals page={page} period={period} />}
        </When>
      </div>
      <div class="grid">
        <div class="stack grid-main">
          <RevenueChart period={period} loaded={loaded} />
          <Card id="latest" title="Latest payments">
            <When loaded={loaded}>
              {({ records }) =>
                records.length === 0 ? (
                  <NoPayments what="No payments by this payer" />
                ) : (
                  <PaymentsTable caption="Latest payments of this payer" records={records} without="payer" />
                )
              }
            </When>
            <div class="card-foot">
              <Link href={formatAddress('payments', { payer })}>All its payments</Link>
            </div>
          </Card>
        </div>
        <div class="stack">
          <Card id="name" title="Name">
            <dl class="facts card-text">
              <IdLine name="Pseudonym" text={payer} />
              <Fact name="Wallet">
                <span class="muted">stored as a keyed hash only</span>
              </Fact>
            </dl>
          </Card>
          {value && value.tokens.length > 0 && (
            <Card id="tokens" title="By token">
              <TokenBars tokens={value.tokens} revenueToken={value.summary.revenueToken} />
            </Card>
          )}
        </div>
      </div>
    </>
  )
}

function Totals({ page, period }: { readonly page: PayerPage; readonly period: Period }) {
  const locale = pageLocale()
  const { summary, first, last } = page
  const { previous, payments, revenueToken: unit } = summary
  const than = periodWords(period)
  const made = refundWords(summary)
  return (
    <dl class="tiles card">
      <Tile
        name="Revenue"
        value={formatRounded(summary.revenue, locale)}
        unit={unit}
        exact={exactRevenue(summary, unit)}
      >
        <Trend change={compareAmounts(summary.revenue, previous.revenue, locale)} than={than} />
        {made !== undefined && <span class="tile-made muted">{made}</span>}
      </Tile>
      <Tile name="Payments" value={formatCount(payments, locale)}>
        <Trend change={compareAmounts(String(payments), String(previous.payments), locale)} than={than} />
      </Tile>
      <Tile name="First payment" value={first === null ? '–' : <Moment at={first} />}>
        <span class="trend muted">{first !== null && <Moment at={first} isExact />}</span>
      </Tile>
      <Tile name="Last payment" value={last === null ? '–' : <Moment at={last} />}>
        <span class="trend muted">{last !== null && <Moment at={last} isExact />}</span>
      </Tile>
    </dl>
  )
}
