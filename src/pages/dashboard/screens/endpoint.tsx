/** One endpoint: its price, its revenue over time, the requests that were paid, refused or free, and its payments. */
import { compareAmounts, formatCount } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatPeriodBefore, type Period } from '../../look/periods.ts'
import { UseBars } from '../charts/bars.tsx'
import { computeConversion, Tile } from '../charts/tiles.tsx'
import type { EndpointPage, Offer } from '../data/answers.ts'
import { formatAddress } from '../data/route.ts'
import { Card } from '../elements/card.tsx'
import { Conversion, Trend } from '../elements/cells.tsx'
import { Fact } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { PeriodBar } from '../elements/period.tsx'
import { When } from '../elements/states.tsx'
import { formatPrice, formatUnit } from '../tables/offers.ts'
import { Sales, SalesTiles, useSales } from '../tables/sales.tsx'
import { ScreenHead } from './shell.tsx'

export function Endpoint() {
  const sales = useSales<EndpointPage>('endpoint')
  const { name, period, loaded } = sales
  return (
    <>
      <ScreenHead title={name || 'Endpoint'} within={['endpoints', 'Endpoints']}>
        <PeriodBar period={period} />
      </ScreenHead>
      <Sales
        {...sales}
        subject="endpoint"
        isKnown={isKnown}
        none="No payments for this endpoint in this period"
        figures={({ summary }) => <Totals summary={summary} period={period} />}
      >
        <Card id="price" title="Price">
          <When loaded={loaded} lines={2} isQuiet>
            {({ offers }) => <Prices offers={offers} />}
          </When>
        </Card>
        <Card id="uses" title="Requests">
          <When loaded={loaded} isQuiet>
            {({ summary }) => <UseBars usage={summary.usage} paid={summary.payments} />}
          </When>
          <div class="card-foot">
            <Link href={formatAddress('refusals', { endpoint: name })}>Refused proofs, with reasons</Link>
          </div>
        </Card>
      </Sales>
    </>
  )
}

/** Requests without a payment are counted by hour, so those of other periods are not considered. */
function isKnown({ offers, records, summary: { payments, usage, previous } }: EndpointPage): boolean {
  const counts = [payments, previous.payments, ...[usage, previous.usage].flatMap((one) => Object.values(one))]
  return offers.length > 0 || records.length > 0 || counts.some((count) => count > 0)
}

function Totals({ summary, period }: { readonly summary: EndpointPage['summary']; readonly period: Period }) {
  const locale = pageLocale()
  const { previous, usage, payments } = summary
  const change = compareAmounts(String(usage.refused), String(previous.usage.refused), locale)
  return (
    <SalesTiles summary={summary} period={period}>
      <Tile
        name="Conversion"
        value={<Conversion share={computeConversion(usage.challenged, payments)} />}
        exact="Share of payment requests that were paid"
      >
        <span class="trend muted">of {formatCount(usage.challenged, locale)} requests for payment</span>
      </Tile>
      <Tile name="Refused proofs" value={formatCount(usage.refused, locale)}>
        <Trend change={change} than={formatPeriodBefore(period)} isCost />
      </Tile>
    </SalesTiles>
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
