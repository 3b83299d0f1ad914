/** Revenue over time beside the period before: a chart, and the same data as a table. */
import { useSignal } from '@preact/signals'
import { formatAmount, formatCount, formatRounded } from '../../look/amounts.ts'
import { pageLocale } from '../../look/locale.ts'
import { dayOfHour, formatPeriodBefore, listSteps, type Period, type Step } from '../../look/periods.ts'
import { dayMs, formatDay, formatExact, hourMs } from '../../look/times.ts'
import type { Loaded } from '../data/answer.ts'
import type { Charted, OverviewPoint, Revenue } from '../data/answers.ts'
import { zone } from '../data/settings.ts'
import { Card } from '../elements/card.tsx'
import { Choice } from '../elements/choice.tsx'
import { CsvButton } from '../elements/export.tsx'
import { When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { Plot } from './plot.tsx'
import { addRevenue, isRefunded, readGross, readRefunded, refundWords } from './revenue.tsx'

type Measure = 'revenue' | 'payments'

interface Drawn extends Required<Revenue> {
  readonly at: number
  readonly payments: number
}

function addPoints(at: number, points: readonly (Revenue & { readonly payments: number })[]): Drawn {
  return {
    at,
    payments: points.reduce((sum, { payments }) => sum + payments, 0),
    ...addRevenue(points),
  }
}

interface Span {
  readonly from: number
  readonly to: number
}

/**
 * All hours or days of a span. The service leaves out those without payments, and sums long periods by days (UTC). Days
 * of another zone are summed from hours.
 */
function fillPoints(points: readonly OverviewPoint[], { from, to }: Span, source: Step, step: Step): readonly Drawn[] {
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]))
  const stepMs = source === 'hour' ? hourMs : dayMs
  const starts = Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, index) => from + index * stepMs)
  const name = (at: number) => (source === 'hour' && step === 'day' ? dayOfHour(at, zone.value) : at)
  const groups = new Map<number, OverviewPoint[]>()
  for (const start of starts) {
    const point = byTime.get(start)
    groups.set(name(start), [...(groups.get(name(start)) ?? []), ...(point ? [point] : [])])
  }
  return [...groups].map(([at, own]) => addPoints(at, own))
}

interface RevenueChartProps {
  readonly period: Period
  readonly loaded: Loaded<Charted>
  /** The service has no hours, whatever the period is. */
  readonly isDaily?: boolean
}

export function RevenueChart({ period, loaded, isDaily = false }: RevenueChartProps) {
  // Days cannot be divided into hours.
  const hasOnlyDays = isDaily || loaded.value?.step === 'day'
  const steps = hasOnlyDays ? (['day'] as const) : listSteps(period)
  const chosen = useSignal<Step | undefined>(undefined)
  const measure = useSignal<Measure>('revenue')
  const isTable = useSignal(false)
  const step = steps.find((one) => one === chosen.value) ?? steps[0] ?? 'hour'
  return (
    <Card
      id="over-time"
      title="Over time"
      tools={
        <>
          <Choice
            label="Measure"
            options={[
              ['revenue', 'Revenue'],
              ['payments', 'Payments'],
            ]}
            value={measure.value}
            onChange={(value) => {
              measure.value = value
            }}
          />
          {steps.length > 1 && (
            <Choice
              label="Resolution"
              options={[
                ['hour', 'Hours'],
                ['day', 'Days'],
              ]}
              value={step}
              onChange={(value) => {
                chosen.value = value
              }}
            />
          )}
        </>
      }
    >
      <When loaded={loaded} lines={9} isQuiet>
        {(charted) => (
          <Figure
            {...readPoints(charted, step)}
            step={step}
            measure={measure.value}
            unit={charted.summary.revenueToken}
            than={formatPeriodBefore(period)}
            isTable={isTable.value}
            onTable={() => {
              isTable.value = !isTable.value
            }}
          />
        )}
      </When>
      {hasOnlyDays && zone.value === 'local' && <p class="card-note">Days are in UTC.</p>}
    </Card>
  )
}

/** The ends come from the response: while another period loads, the points are still those of the last one. */
function readPoints({ step: source, points, before, summary }: Charted, step: Step) {
  const fill = (own: readonly OverviewPoint[], { from, to }: Ends) =>
    from === null || to === null ? [] : fillPoints(own, { from: Date.parse(from), to: Date.parse(to) }, source, step)
  return { points: fill(points, summary), before: before ? fill(before.points, before) : [] }
}

interface Ends {
  readonly from: string | null
  readonly to: string | null
}

interface FigureProps {
  readonly points: readonly Drawn[]
  readonly before: readonly Drawn[]
  readonly step: Step
  readonly measure: Measure
  readonly unit: string
  readonly than: string
  readonly isTable: boolean
  readonly onTable: () => void
}

function Figure({ points, before, step, measure, unit, than, isTable, onTable }: FigureProps) {
  const locale = pageLocale()
  const formatTime = ({ at }: Drawn) =>
    step === 'day' ? formatDay(at, zone.value, locale) : formatExact(at, zone.value, locale).replace(/:00(?= |$)/, '')
  const formatFigure = (point: Drawn, format = formatRounded) =>
    measure === 'revenue'
      ? `${format(point.revenue, locale)} ${unit}`
      : `${formatCount(point.payments, locale)} ${point.payments === 1 ? 'payment' : 'payments'}`
  const whole = addPoints(0, points)
  const all = formatFigure(whole)
  const made = measure === 'revenue' ? refundWords(whole) : undefined
  const describe = (index: number) => {
    const [point, earlier] = [points[index], before[index]]
    if (!point) return null
    const refunds = measure === 'revenue' ? refundWords(point) : undefined
    return (
      <>
        <b>{formatFigure(point)}</b>
        <span>{formatTime(point)}</span>
        {refunds !== undefined && <span>{refunds}</span>}
        {earlier && (
          <span class="tip-earlier">
            {formatFigure(earlier)}, {formatTime(earlier)}
          </span>
        )}
      </>
    )
  }
  return (
    <>
      <div class="readout">
        <p>
          <b>{all}</b>{' '}
          <span class="muted">
            in this period
            {made !== undefined && ` · ${made}`}
          </span>
        </p>
        {before.length > 0 && !isTable && <p class="legend muted">{than}</p>}
      </div>
      {isTable ? (
        <PointsTable
          {...{ points, before, measure, formatTime }}
          formatFigure={(point) => formatFigure(point, formatAmount)}
        />
      ) : (
        <Plot
          points={points.map((point) => ({ at: point.at, value: Number(point[measure]) }))}
          before={before.map((point) => Number(point[measure]))}
          {...{ step, locale, describe, zone: zone.value }}
          label={`${measure} over time, ${all} in this period`}
        />
      )}
      <div class="card-foot">
        <button type="button" class="link-button" onClick={onTable}>
          {isTable ? 'Show as a chart' : 'Show as a table'}
        </button>
        {isTable && <CsvButton name="over-time" rows={() => createCells(points, unit)} isQuiet />}
      </div>
    </>
  )
}

interface PointsTableProps extends Pick<FigureProps, 'points' | 'before' | 'measure'> {
  readonly formatTime: (point: Drawn) => string
  readonly formatFigure: (point: Drawn) => string
}

function PointsTable({ points, before, measure, formatTime, formatFigure }: PointsTableProps) {
  const locale = pageLocale()
  const refundColumns: readonly Column<Drawn>[] = [
    { name: 'Earned', class: 'number', cell: (one) => formatAmount(readGross(one), locale) },
    { name: 'Refunded', class: 'number', cell: (one) => formatAmount(readRefunded(one), locale) },
  ]
  const columns: readonly Column<Drawn>[] = [
    { name: 'When', cell: formatTime },
    ...(measure === 'revenue' && points.some(isRefunded) ? refundColumns : []),
    { name: measure === 'revenue' ? 'Revenue' : 'Payments', class: 'number', cell: formatFigure },
  ]
  const earlier: Column<Drawn> = {
    name: 'Previous',
    class: 'number wide',
    cell: (one) => {
      const point = before[points.indexOf(one)]
      return point ? formatFigure(point) : '–'
    },
  }
  return (
    <Table
      caption="Over time"
      class="chart-table"
      isScrolled
      columns={before.length > 0 ? [...columns, earlier] : columns}
      rows={points}
      rowKey={({ at }) => at}
    />
  )
}

function createCells(points: readonly Drawn[], unit: string): readonly (readonly string[])[] {
  return [
    ['from', 'payments', 'revenue', 'revenueToken', 'gross', 'refunded'],
    ...points.map((one) => [
      new Date(one.at).toISOString(),
      ...[`${one.payments}`, one.revenue, unit, one.gross, one.refunded],
    ]),
  ]
}
