/** One endpoint: its price, its revenue over time, the requests that were paid, refused or free, and its payments. */
import { compareAmounts, formatCount, formatRounded, formatShare } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { type Period, periodBefore, periodWords } from '../../look/periods.ts'
import { TokenBars, UseBars } from '../charts/bars.tsx'
import { RevenueChart } from '../charts/chart.tsx'
import { exactRevenue, refundWords } from '../charts/revenue.tsx'
import { computeConversion, Tile } from '../charts/tiles.tsx'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { EndpointPage, Offer } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress, place } from '../data/route.ts'
import { zone } from '../data/settings.ts'
import { Card } from '../elements/card.tsx'
import { Trend } from '../elements/cells.tsx'
import { Fact } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar, usePeriod } from '../elements/period.tsx'
import { NoPayments, When } from '../elements/states.tsx'
import { formatPrice, formatUnit } from '../tables/offers.ts'
import { PaymentsTable } from '../tables/payments.tsx'
import { ScreenHead } from './shell.tsx'

export function Endpoint() {
  const endpoint = place.value.query.get('name') ?? ''
  const period = usePeriod(false)
  const { from, to } = period
  const before = periodBefore(period, zone.value)?.from
  const path = formatPath('/api/analytics/endpoint', { endpoint, from, to, before })
  const loaded = useAnswer<EndpointPage>(path, { follows: calmNews })
  const { value } = loaded
  return (
    <>
      <ScreenHead title={endpoint} within={['endpoints', 'Endpoints']}>
        <PeriodBar period={period} />
      </ScreenHead>
      <div class={value ? undefined : 'card'}>
        <When loaded={loaded} lines={3}>
          {({ summary }) => <Totals summary={summary} period={period} />}
        </When>
      </div>
      <div class="grid">
        <div class="stack grid-main">
          <RevenueChart period={period} loaded={loaded} />
          <Card id="latest" title="Latest payments">
            <When loaded={loaded}>
              {({ records }) =>
                records.length === 0 ? (
                  <NoPayments what="No payments for this endpoint yet" />
                ) : (
                  <PaymentsTable caption="Latest payments of this endpoint" records={records} without="endpoint" />
                )
              }
            </When>
            <div class="card-foot">
              <Link href={formatAddress('payments', { endpoint })}>All its payments</Link>
            </div>
          </Card>
        </div>
        <div class="stack">
          <Card id="price" title="Price">
            <When loaded={loaded} lines={2}>
              {({ offers }) => <Prices offers={offers} />}
            </When>
          </Card>
          <Card id="uses" title="Requests">
            <When loaded={loaded}>{({ summary }) => <UseBars usage={summary.usage} paid={summary.payments} />}</When>
            <div class="card-foot">
              <Link href={formatAddress('refusals', { endpoint })}>Refused proofs, with reasons</Link>
            </div>
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

function Totals({ summary, period }: { readonly summary: EndpointPage['summary']; readonly period: Period }) {
  const locale = pageLocale()
  const { previous, usage, payments, revenueToken: unit } = summary
  const than = periodWords(period)
  const made = refundWords(summary)
  const conversion = computeConversion(usage.challenged, payments)
  const compare = (now: number, was: number) => compareAmounts(String(now), String(was), locale)
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
        <Trend change={compare(payments, previous.payments)} than={than} />
      </Tile>
      <Tile name="Conversion" value={formatShare(conversion, locale)} exact="Share of payment requests that were paid">
        <span class="trend muted">of {formatCount(usage.challenged, locale)} requests for payment</span>
      </Tile>
      <Tile name="Refused proofs" value={formatCount(usage.refused, locale)}>
        <Trend change={compare(usage.refused, previous.usage.refused)} than={than} isCost />
      </Tile>
    </dl>
  )
}

function Prices({ offers }: { readonly offers: readonly Offer[] }) {
  if (offers.length === 0)
    return <p class="card-note muted">This endpoint is not sold now, or its paywall has no name for it.</p>
  return (
    <dl class="facts card-text">
      {offers.map((offer, index) => (
        <Fact key={index} name={offer.methods.join(', ')}>
          <b>{formatPrice(offer)}</b> for {formatUnit(offer)}
          {offer.acceptedMints.some((token) => token !== offer.token) && (
            <span class="muted">, payable in {offer.acceptedMints.join(', ')}</span>
          )}
        </Fact>
      ))}
    </dl>
  )
}
