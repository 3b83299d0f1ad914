/** The labels of the axes: times in any zone, and round amounts. */
import { dayOfHour, type Step } from '../../look/periods.ts'
import { formatDay, formatHour, hourMs, readHour, type Zone } from '../../look/times.ts'

export interface Tick {
  /** The number of the point that it belongs to. */
  readonly index: number
  readonly label: string
}

export interface TimeAxis {
  /** The starts of the points, in order. */
  readonly times: readonly number[]
  readonly step: Step
  /** The number of labels that fit. */
  readonly most: number
  readonly zone: Zone
  readonly locale: string
}

const spans = [1, 2, 3, 4, 6, 8, 12] as const

/** Labels at equal distances. The first hour of each day names the day, so no label stands for two points. */
export function listTicks(axis: TimeAxis): readonly Tick[] {
  const { times, step, most, zone, locale } = axis
  const thin = <Item>(all: readonly Item[]): readonly Item[] => {
    const every = Math.max(1, Math.ceil(all.length / Math.max(1, most)))
    return all.filter((_, index) => index % every === 0)
  }
  if (step === 'day')
    return thin([...times.entries()]).map(([index, at]) => ({ index, label: formatDay(at, zone, locale) }))
  const hours = times.map((at, index) => {
    // In some zones an hour (UTC) starts at half past the hour. Its middle is certainly in the day that it belongs to.
    const [day, hour] = [dayOfHour(at, zone), readHour(at + hourMs / 2, zone)]
    const before = times[index - 1]
    const isFirst = before === undefined || dayOfHour(before, zone) !== day
    // An hour that the end of summer time repeats has one label.
    const isAgain = !isFirst && readHour(before + hourMs / 2, zone) === hour
    return { index, at, day, hour, isFirst, isAgain }
  })
  const listEvery = (span: number) =>
    hours.filter(({ isFirst, isAgain, hour }) => isFirst || (!isAgain && hour % span === 0))
  const chosen =
    spans.map(listEvery).find(({ length }) => length <= most) ?? thin(hours.filter(({ isFirst }) => isFirst))
  return chosen.map(({ index, at, day, isFirst }) => ({
    index,
    label: isFirst ? formatDay(day, zone, locale) : formatHour(at, zone, locale),
  }))
}

const usualEdge = 52
const edgeGaps = 12

/** The room for the amounts at the left. All short amounts have the same, so that another period rarely moves the chart. */
export function measureEdge(labels: readonly string[], measure: (label: string) => number): number {
  return Math.max(usualEdge, ...labels.map((label) => Math.ceil(measure(label)) + edgeGaps))
}

/** Round amounts from the least to the most, including zero; about `count`. */
export function listAmounts(least: number, most: number, count = 4): readonly number[] {
  const low = Math.min(0, least)
  const high = Math.max(0, most) || (low === 0 ? 1 : 0)
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10) * power
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}
