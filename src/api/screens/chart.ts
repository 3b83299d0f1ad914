/** The points of a chart: hours or days with payments or refunds. */
import type { Period, Point } from '../../core/ports/reports.ts'
import { formatRevenue, hourMs, total } from '../analytics/reports.ts'

/** Longer periods are summed by days. */
const mostHours = 1_900

export function chooseStep({ from = 0, to = 0 }: Period): 'hour' | 'day' {
  return to - from <= mostHours * hourMs ? 'hour' : 'day'
}

/** One point for each time, over all tokens. */
export function formatPoints(points: readonly Point[]) {
  const byTime = new Map<number, Point[]>()
  for (const point of points) {
    const known = byTime.get(point.at)
    if (known) known.push(point)
    else byTime.set(point.at, [point])
  }
  return [...byTime].map(([at, sums]) => ({ at: new Date(at).toISOString(), ...formatSums(sums) }))
}

export function formatSums(points: readonly Point[]) {
  return { payments: total(points, ({ payments }) => payments), ...formatRevenue(points) }
}
