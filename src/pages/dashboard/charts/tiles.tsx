/** The four figures at the top, each compared with the period before. */
import type { ComponentChildren } from 'preact'
import { compareAmounts, compareShares, formatAmount, formatCount, formatRounded } from '../../look/amounts.ts'
import { divideDecimal } from '../../look/decimals.ts'
import { pageLocale } from '../../look/locale.ts'
import type { Summary, Totals } from '../data/answers.ts'
import { Conversion, Trend } from '../elements/cells.tsx'
import { exactRevenue, refundNote } from './revenue.tsx'

interface TileProps {
  readonly name: string
  /** Beside the name, on the next line if there is no room. */
  readonly note?: string | undefined
  readonly value: ComponentChildren
  readonly unit?: string
  readonly exact?: string
  /** The line below the figure. */
  readonly children: ComponentChildren
}

export function Tile({ name, note, value, unit, exact, children }: TileProps) {
  return (
    <div class="tile">
      <dt>
        {name}
        {note && <span class="tile-note"> · {note}</span>}
      </dt>
      <dd class="tile-value" title={exact}>
        {value} {unit && <span class="unit">{unit}</span>}
      </dd>
      <dd class="tile-trend">{children}</dd>
    </div>
  )
}

/** A payment can follow several challenges, and can fall into the next hour, so the ratio is limited to 1. */
export function computeConversion(challenged: number, paid: number): number | undefined {
  return challenged === 0 ? undefined : Math.min(1, paid / challenged)
}

interface TilesProps {
  readonly summary: Summary
  readonly previous: Totals | undefined
  readonly than: string
}

export function Tiles({ summary, previous, than }: TilesProps) {
  const locale = pageLocale()
  // The average includes refunded payments.
  const computeAverage = (totals: Totals) => divideDecimal(totals.gross ?? totals.totalRevenue, totals.payments)
  const average = computeAverage(summary)
  const unit = summary.revenueToken
  const revenue = { ...summary, revenue: summary.totalRevenue }
  const convert = ({ funnel }: Totals) => computeConversion(funnel.challenged, funnel.paid)
  const wasAverage = previous && (computeAverage(previous) ?? '0')
  return (
    <dl class="tiles card">
      <Tile
        name="Revenue"
        note={refundNote(revenue)}
        value={formatRounded(summary.totalRevenue, locale)}
        unit={unit}
        exact={exactRevenue(revenue, unit)}
      >
        <Trend change={compareAmounts(summary.totalRevenue, previous?.totalRevenue, locale)} than={than} />
      </Tile>
      <Tile name="Payments" value={formatCount(summary.payments, locale)}>
        <Trend
          change={compareAmounts(String(summary.payments), previous && String(previous.payments), locale)}
          than={than}
        />
      </Tile>
      <Tile
        name="Average payment"
        value={average === undefined ? '–' : formatRounded(average, locale)}
        {...(average !== undefined && { unit, exact: `${formatAmount(average, locale)} ${unit}` })}
      >
        <Trend
          change={average === undefined ? { kind: 'none' } : compareAmounts(average, wasAverage, locale)}
          than={than}
        />
      </Tile>
      <Tile
        name="Conversion"
        value={<Conversion share={convert(summary)} />}
        exact="Share of payment requests that were paid"
      >
        {convert(summary) === undefined ? (
          <span class="trend muted">no requests for payment</span>
        ) : (
          <Trend change={compareShares(convert(summary), previous && convert(previous), locale)} than={than} />
        )}
      </Tile>
    </dl>
  )
}
