/** The common parts of the pages about one endpoint or one payer: figures, the chart, latest payments and tokens. */
import type { ComponentChildren } from 'preact'
import { compareAmounts, formatCount, formatRounded } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { formatPeriodBefore, type Period, periodBefore } from '../../look/periods.ts'
import { TokenBars } from '../charts/bars.tsx'
import { RevenueChart } from '../charts/chart.tsx'
import { exactRevenue, refundNote } from '../charts/revenue.tsx'
import { Tile } from '../charts/tiles.tsx'
import { calmNews, type Loaded, useAnswer } from '../data/answer.ts'
import type { EndpointPage, PayerPage } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { formatAddress, place } from '../data/route.ts'
import { zone } from '../data/settings.ts'
import { Card } from '../elements/card.tsx'
import { Trend } from '../elements/cells.tsx'
import { Link } from '../elements/link.tsx'
import { usePeriod } from '../elements/period.tsx'
import { NoPayments, Notice, When } from '../elements/states.tsx'
import { PaymentsTable } from './payments.tsx'

type Subject = 'endpoint' | 'payer'

/** The words for an endpoint or a payer that the service does not know. */
const unknown = {
  endpoint: {
    title: 'Endpoint not found',
    text: 'No endpoint with this name is for sale or was ever paid for.',
    list: ['endpoints', 'All endpoints'],
  },
  payer: { title: 'Payer not found', text: 'No payer with this name ever paid.', list: ['payers', 'All payers'] },
} as const

/** The endpoint or payer in the address, the chosen period, and the data of the page. */
export function useSales<Page>(subject: Subject) {
  const name = place.value.query.get('name') ?? ''
  const period = usePeriod(false)
  const { from, to } = period
  const before = periodBefore(period, zone.value)?.from
  const path = name === '' ? undefined : formatPath(`/api/analytics/${subject}`, { [subject]: name, from, to, before })
  return { name, period, loaded: useAnswer<Page>(path, { follows: calmNews }) }
}

interface SalesProps<Page> {
  readonly subject: Subject
  readonly name: string
  readonly period: Period
  readonly loaded: Loaded<Page>
  /** Whether the service knows the endpoint or payer. */
  readonly isKnown: (page: Page) => boolean
  /** The title if there are no payments. */
  readonly none: string
  readonly figures: (page: Page) => ComponentChildren
  /** The cards beside the chart, above the tokens. */
  readonly children: ComponentChildren
}

export function Sales<Page extends EndpointPage | PayerPage>(props: SalesProps<Page>) {
  const { subject, name, period, loaded, isKnown, none, figures, children } = props
  const { value, isStale } = loaded
  if (name === '' || (value && !isStale && !isKnown(value))) return <Missing subject={subject} />
  return (
    <>
      <div class="framed figures">
        <When loaded={loaded} lines={2}>
          {figures}
        </When>
      </div>
      <div class="grid">
        <div class="stack grid-main">
          <RevenueChart period={period} loaded={loaded} isDaily={subject === 'payer'} />
          <Card id="latest" title="Latest payments">
            <When loaded={loaded} isQuiet>
              {({ records }) =>
                records.length === 0 ? (
                  <NoPayments title={none} />
                ) : (
                  <PaymentsTable caption={`Latest payments of this ${subject}`} records={records} without={subject} />
                )
              }
            </When>
            <div class="card-foot">
              <Link href={formatAddress('payments', { [subject]: name })}>All its payments</Link>
            </div>
          </Card>
        </div>
        <div class="stack">
          {children}
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

function Missing({ subject }: { readonly subject: Subject }) {
  const { title, text, list } = unknown[subject]
  return (
    <div class="framed">
      <Notice title={title}>
        <p>{text}</p>
        <Link href={formatAddress(list[0])} class="button">
          {list[1]}
        </Link>
      </Notice>
    </div>
  )
}

interface SalesTilesProps {
  readonly summary: (EndpointPage | PayerPage)['summary']
  readonly period: Period
  /** The tiles after revenue and payments. */
  readonly children: ComponentChildren
}

export function SalesTiles({ summary, period, children }: SalesTilesProps) {
  const locale = pageLocale()
  const { previous, payments, revenueToken: unit } = summary
  const than = formatPeriodBefore(period)
  return (
    <dl class="tiles card">
      <Tile
        name="Revenue"
        note={refundNote(summary)}
        value={formatRounded(summary.revenue, locale)}
        unit={unit}
        exact={exactRevenue(summary, unit)}
      >
        <Trend change={compareAmounts(summary.revenue, previous.revenue, locale)} than={than} />
      </Tile>
      <Tile name="Payments" value={formatCount(payments, locale)}>
        <Trend change={compareAmounts(String(payments), String(previous.payments), locale)} than={than} />
      </Tile>
      {children}
    </dl>
  )
}
