/** The chart: bars for a few points, an area for many, and the period before as a dashed line. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { openNumberFormat } from '../../look/formats.ts'
import type { Step } from '../../look/periods.ts'
import type { Zone } from '../../look/times.ts'
import { listAmounts, listTicks, measureEdge } from './axis.ts'

export interface PlotPoint {
  readonly at: number
  readonly value: number
}

interface PlotProps {
  readonly points: readonly PlotPoint[]
  /** The values of the period before, in the same order. */
  readonly before: readonly number[]
  readonly step: Step
  readonly zone: Zone
  readonly locale: string
  /** For screen readers. */
  readonly label: string
  /** The text beside the pointer. */
  readonly describe: (index: number) => ComponentChildren
}

const height = 232
const margins = { top: 12, right: 6, bottom: 28 }
const mostBars = 80
const widestBar = 36
const labelWidth = 64

/** Measures texts in the type of the chart. The size is that of `.plot text`. */
function openRuler(box: Element): (text: string) => number {
  const context = document.createElement('canvas').getContext('2d')
  if (context) context.font = `12px ${getComputedStyle(box).fontFamily}`
  return (text) => context?.measureText(text).width ?? 0
}

export function Plot({ label, ...drawn }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const width = useSignal(0)
  const measure = useRef<DrawingProps['measure']>(() => 0)
  useEffect(() => {
    const box = place.current
    if (!box) return
    measure.current = openRuler(box)
    const watcher = new ResizeObserver(() => {
      width.value = box.clientWidth
    })
    watcher.observe(box)
    return () => watcher.disconnect()
  }, [width])
  return (
    <div class="plot" ref={place} role="img" aria-label={label}>
      {width.value > 0 && <Drawing {...drawn} width={width.value} measure={measure.current} />}
    </div>
  )
}

interface DrawingProps extends Omit<PlotProps, 'label'> {
  readonly width: number
  readonly measure: (text: string) => number
}

function Drawing({ points, before, step, zone, locale, describe, width, measure }: DrawingProps) {
  const pointed = useSignal<number | undefined>(undefined)
  const values = [...points.map(({ value }) => value), ...before.slice(0, points.length)]
  const amounts = listAmounts(Math.min(...values, 0), Math.max(...values, 0))
  const [low = 0, high = 1] = [amounts[0], amounts.at(-1)]
  const money = openNumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 4 })
  const edge = { ...margins, left: measureEdge(amounts.map(money.format), measure) }
  const inner = { width: Math.max(1, width - edge.left - edge.right), height: height - edge.top - edge.bottom }
  const slot = inner.width / Math.max(1, points.length)
  const x = (index: number) => edge.left + (index + 0.5) * slot
  const y = (value: number) => edge.top + inner.height * (1 - (value - low) / (high - low))
  const trace = (line: readonly number[]) => line.map((value, index) => `${x(index).toFixed(1)} ${y(value).toFixed(1)}`)
  const ticks = listTicks({
    times: points.map(({ at }) => at),
    ...{ step, zone, locale, most: Math.floor(inner.width / labelWidth) },
  })
  const earlier = trace(before.slice(0, points.length))
  // Without the parts on the axis, where the edge would cut the bars.
  const edges = earlier.slice(1).map((end, index) => {
    const isRaised = before[index] !== 0 || before[index + 1] !== 0
    return isRaised ? `M${earlier[index]}L${end}` : ''
  })
  const line = trace(points.map(({ value }) => value)).join('L')
  const chosen = pointed.value !== undefined && pointed.value < points.length ? pointed.value : undefined
  const point = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect()
    const index = Math.floor((event.clientX - left - edge.left) / slot)
    pointed.value = index >= 0 && index < points.length ? index : undefined
  }
  return (
    <>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        aria-hidden="true"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => {
          pointed.value = undefined
        }}
      >
        {amounts.map((amount) => (
          <g key={amount}>
            <line class="plot-grid" x1={edge.left} x2={width - edge.right} y1={y(amount)} y2={y(amount)} />
            <text x={edge.left - 8} y={y(amount) + 4} text-anchor="end">
              {money.format(amount)}
            </text>
          </g>
        ))}
        {ticks.map(({ index, label }) => (
          <text
            key={index}
            x={x(index)}
            y={height - 8}
            text-anchor={x(index) > width - labelWidth / 2 ? 'end' : 'middle'}
          >
            {label}
          </text>
        ))}
        {points.length <= mostBars ? (
          points.map(({ at, value }, index) => (
            <Bar key={at} x={x(index)} size={Math.min(widestBar, slot * 0.7)} from={y(0)} to={y(value)} />
          ))
        ) : (
          <>
            <path class="plot-area" d={`M${x(0)} ${y(0)}L${line}L${x(points.length - 1)} ${y(0)}Z`} />
            <path class="plot-line" d={`M${line}`} />
          </>
        )}
        {earlier.length > 0 && (
          <>
            <path class="plot-before-edge" d={edges.join('')} />
            <path class="plot-before" d={`M${earlier.join('L')}`} />
          </>
        )}
        {chosen !== undefined && (
          <line class="plot-cursor" x1={x(chosen)} x2={x(chosen)} y1={edge.top} y2={height - edge.bottom} />
        )}
      </svg>
      {chosen !== undefined && (
        <div class={x(chosen) > width / 2 ? 'tip tip-before' : 'tip'} style={{ left: `${x(chosen)}px` }}>
          {describe(chosen)}
        </div>
      )}
    </>
  )
}

interface BarProps {
  readonly x: number
  readonly size: number
  readonly from: number
  readonly to: number
}

function Bar({ x, size, from, to }: BarProps) {
  return (
    <rect
      class="plot-bar"
      x={x - size / 2}
      width={size}
      y={Math.min(from, to)}
      height={Math.abs(from - to)}
      rx={Math.min(3, size / 4)}
    />
  )
}
