/** The chart on uPlot: bars for a few points, an area for many, in the colours of the theme. */
import uPlot from 'uplot'

export interface PlotPoint {
  readonly at: number
  readonly value: number
}

export interface PlotParts {
  readonly points: readonly PlotPoint[]
  readonly stepMs: number
  readonly formatTick: (at: number) => string
  readonly formatValue: (value: number) => string
  /** Undefined if the pointer is not on a point. */
  readonly onPoint: (index: number | undefined) => void
}

const height = 232
const mostBars = 80

/** The current value of a theme colour. A canvas cannot read custom properties. */
function readColour(place: HTMLElement, name: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  place.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

export function drawPlot(place: HTMLElement, parts: PlotParts) {
  const { points, stepMs, formatTick, formatValue, onPoint } = parts
  const colour = (name: string) => readColour(place, name)
  const hasBars = points.length <= mostBars
  const axis = {
    stroke: colour('muted'),
    font: `12px ${getComputedStyle(place).fontFamily}`,
    ticks: { show: false },
    grid: { stroke: colour('line'), width: 1 },
  }
  const seconds = points.map(({ at }) => at / 1_000)
  const [first = 0, last = 1] = [seconds[0], seconds.at(-1)]
  const half = stepMs / 2_000
  const bars = uPlot.paths.bars?.({ size: [0.7, 36], radius: [0.25, 0] })
  const options: uPlot.Options = {
    width: Math.max(200, place.clientWidth),
    height,
    padding: [12, 4, 0, 4],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: hasBars ? { show: false } : { size: 8, fill: colour('accent'), width: 0 },
    },
    scales: {
      x: { time: true, range: () => [first - half, last + half] },
      // Refunds can exceed receipts.
      y: { range: (_plot, least, most) => [Math.min(0, least * 1.12), most > 0 ? most * 1.12 : least < 0 ? 0 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: 64,
        values: (_plot, ticks) => ticks.map((at) => formatTick(at * 1_000)),
      },
      { ...axis, size: 52, gap: 6, space: 48, values: (_plot, ticks) => ticks.map(formatValue) },
    ],
    series: [
      {},
      {
        stroke: colour('accent'),
        fill: hasBars ? colour('accent') : colour('accent-soft'),
        width: hasBars ? 0 : 2,
        points: { show: false },
        ...(hasBars && bars && { paths: bars }),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  }
  const plot = new uPlot(options, [seconds, points.map(({ value }) => value)], place)
  const watcher = new ResizeObserver(() => {
    const width = Math.max(200, place.clientWidth)
    if (Math.abs(width - plot.width) > 1) plot.setSize({ width, height })
  })
  watcher.observe(place)
  return {
    destroy: () => {
      watcher.disconnect()
      plot.destroy()
    },
  }
}
