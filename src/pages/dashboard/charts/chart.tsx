/** Revenue over time: a chart, and the same data as a table for screen readers. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { formatAmount, formatCount, formatRounded } from '../../look/amounts.ts'
import { addDecimals } from '../../look/decimals.ts'
import { mendLanguage, pageLocale } from '../../look/locale.ts'
import { listSteps, type Period, type Step } from '../../look/periods.ts'
import { dayMs, formatDay, formatExact, formatHour, hourMs, startOfDay } from '../../look/times.ts'
import { news, useAnswer } from '../data/answer.ts'
import type { Revenue, Series, SeriesPoint } from '../data/answers.ts'
import { formatPath } from '../data/ask.ts'
import { theme, zone } from '../data/settings.ts'
import { Card } from '../elements/card.tsx'
import { Choice } from '../elements/choice.tsx'
import { CsvButton } from '../elements/export.tsx'
import { When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { isRefunded, readGross, readRefunded, refundWords } from './revenue.tsx'

type Measure = 'revenue' | 'payments'

interface Drawn extends Revenue {
  readonly at: number
  readonly payments: number
}

function addRevenue(points: readonly Revenue[]): Required<Revenue> {
  return {
    revenue: addDecimals(points.map(({ revenue }) => revenue)),
    gross: addDecimals(points.map(readGross)),
    refunded: addDecimals(points.map(readRefunded)),
  }
}

/** The service sums by UTC days. Days of another zone are summed from hours. */
function inDays(points: readonly SeriesPoint[]): readonly Drawn[] {
  const days = new Map<number, SeriesPoint[]>()
  for (const point of points) {
    const day = startOfDay(Date.parse(point.at), zone.value)
    days.set(day, [...(days.get(day) ?? []), point])
  }
  return [...days].map(([at, own]) => ({
    at,
    ...addRevenue(own),
    payments: own.reduce((sum, { payments }) => sum + payments, 0),
  }))
}

/** Limit of hours in one response of the service. */
const mostHours = 1_900

export function RevenueChart({ period }: { readonly period: Period }) {
  const { from, to } = period
  const steps = listSteps(period)
  const chosen = useSignal<Step | undefined>(undefined)
  const measure = useSignal<Measure>('revenue')
  const isTable = useSignal(false)
  const step = steps.find((one) => one === chosen.value) ?? steps[0] ?? 'hour'
  const isByHour = ((to ?? 0) - (from ?? 0)) / hourMs <= mostHours
  const loaded = useAnswer<Series>(formatPath('/api/analytics/series', { step: isByHour ? 'hour' : 'day', from, to }), {
    follows: news,
  })
  const createPoints = ({ points }: Series): readonly Drawn[] =>
    step === 'day' && isByHour ? inDays(points) : points.map((point) => ({ ...point, at: Date.parse(point.at) }))
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
      <When loaded={loaded} lines={6}>
        {(series) => (
          <Drawing
            points={createPoints(series)}
            step={step}
            measure={measure.value}
            unit={series.revenueToken}
            isTable={isTable.value}
            onTable={() => {
              isTable.value = !isTable.value
            }}
          />
        )}
      </When>
      {!isByHour && zone.value === 'local' && <p class="card-note">Days are in UTC.</p>}
    </Card>
  )
}

interface DrawingProps {
  readonly points: readonly Drawn[]
  readonly step: Step
  readonly measure: Measure
  readonly unit: string
  readonly isTable: boolean
  readonly onTable: () => void
}

function Drawing({ points, step, measure, unit, isTable, onTable }: DrawingProps) {
  const locale = pageLocale()
  const pointed = useSignal<number | undefined>(undefined)
  const when = ({ at }: Drawn) =>
    step === 'day' ? formatDay(at, zone.value, locale) : formatExact(at, zone.value, locale).replace(/:00(?= |$)/, '')
  const howMuch = (point: Drawn) =>
    measure === 'revenue' ? `${formatAmount(point.revenue, locale)} ${unit}` : formatCount(point.payments, locale)
  const point = pointed.value === undefined ? undefined : points[pointed.value]
  const total = addDecimals(points.map((one) => String(one[measure])))
  const all =
    measure === 'revenue' ? `${formatRounded(total, locale)} ${unit}` : `${formatCount(Number(total), locale)} payments`
  const made = measure === 'revenue' ? refundWords(point ?? addRevenue(points)) : undefined
  const refundColumns: readonly Column<Drawn>[] = [
    { name: 'Earned', class: 'number', cell: (one) => formatAmount(readGross(one), locale) },
    { name: 'Refunded', class: 'number', cell: (one) => formatAmount(readRefunded(one), locale) },
  ]
  const columns: readonly Column<Drawn>[] = [
    { name: 'When', cell: when },
    ...(measure === 'revenue' && points.some(isRefunded) ? refundColumns : []),
    { name: measure === 'revenue' ? 'Revenue' : 'Payments', class: 'number', cell: howMuch },
  ]
  const cells = () => [
    ['from', 'payments', 'revenue', 'revenueToken', 'gross', 'refunded'],
    ...points.map((one) => [
      new Date(one.at).toISOString(),
      ...[`${one.payments}`, one.revenue, unit, readGross(one), readRefunded(one)],
    ]),
  ]
  return (
    <>
      <p class="readout">
        <b>{point ? howMuch(point) : all}</b>{' '}
        <span class="muted">
          {point ? when(point) : 'in this period'}
          {made !== undefined && ` · ${made}`}
        </span>
      </p>
      {isTable ? (
        <Table caption="Over time" class="chart-table" columns={columns} rows={points} rowKey={({ at }) => at} />
      ) : (
        <Plot
          points={points}
          step={step}
          measure={measure}
          label={`${measure} over time, ${all} in this period`}
          onPoint={(index) => {
            pointed.value = index
          }}
        />
      )}
      <div class="card-foot">
        <button type="button" class="link-button" onClick={onTable}>
          {isTable ? 'Show as a chart' : 'Show as a table'}
        </button>
        {isTable && <CsvButton name="over-time" rows={cells} isQuiet />}
      </div>
    </>
  )
}

interface PlotProps extends Pick<DrawingProps, 'points' | 'step' | 'measure'> {
  readonly label: string
  readonly onPoint: (index: number | undefined) => void
}

function Plot({ points, step, measure, label, onPoint }: PlotProps) {
  const locale = pageLocale()
  const place = useRef<HTMLDivElement>(null)
  // `shape` contains all inputs of the drawing.
  const shape = JSON.stringify([points, step, measure, zone.value, theme.value])
  useEffect(() => {
    const box = place.current
    if (!box) return
    let end = () => {}
    let isOver = false
    const draw = async () => {
      mendLanguage(navigator)
      const { drawPlot } = await import('./plot.ts')
      if (isOver) return
      const plot = drawPlot(box, {
        points: points.map((point) => ({ at: point.at, value: Number(point[measure]) })),
        stepMs: step === 'day' ? dayMs : hourMs,
        formatTick: (at) => (at % dayMs === 0 || step === 'day' ? formatDay : formatHour)(at, zone.value, locale),
        formatValue: (value) =>
          new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 4 }).format(value),
        onPoint,
      })
      end = plot.destroy
    }
    draw().catch(() => {})
    // The colours are read at drawing time.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => {
      end()
      draw().catch(() => {})
    }
    scheme.addEventListener('change', redraw)
    return () => {
      isOver = true
      scheme.removeEventListener('change', redraw)
      end()
    }
  }, [shape])
  return <div class="plot" ref={place} role="img" aria-label={label} />
}
