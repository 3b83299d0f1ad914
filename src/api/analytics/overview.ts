/** `GET /api/analytics/overview`: the home screen of the dashboard in one response. */
import type { Point } from '../../core/ports/reports.ts'
import type { SummaryQuery } from './queries.ts'
import { type BooksParts, formatPeriod, formatRevenue, readAnalytics, total } from './reports.ts'
import type { readStatus } from './status.ts'
import { comparedPeriod, readSummary } from './summary.ts'

const hourMs = 3_600_000
/** Longer periods are summed by days. */
const mostHours = 1_900
const latestRecords = 25

type Ends = { readonly from?: number; readonly to?: number }

export interface OverviewParts {
  readonly books: BooksParts
  readonly status: () => ReturnType<typeof readStatus>
  readonly setup: () => Promise<object>
}

export async function readOverview({ books: parts, status, setup }: OverviewParts, query: SummaryQuery) {
  const { period, before } = comparedPeriod(query)
  const step = isShort(period) ? 'hour' : 'day'
  const page = { order: 'latest', limit: latestRecords } as const
  const [summary, points, earlier, { tokens }, { records }, now, steps] = await Promise.all([
    readSummary(parts, query),
    readPoints(parts, period, step),
    before && readPoints(parts, before, step),
    readAnalytics(parts, { ...page, ...period, view: 'tokens' }),
    readAnalytics(parts, { ...page, view: 'records' }),
    status(),
    setup(),
  ])
  return {
    summary,
    step,
    points,
    before: before && earlier ? { ...formatPeriod(before), points: earlier } : null,
    tokens,
    records,
    status: now,
    setup: steps,
  }
}

function isShort({ from = 0, to = 0 }: Ends): boolean {
  return to - from <= mostHours * hourMs
}

/** The hours or days with payments or refunds. An open period has none. */
async function readPoints({ books }: BooksParts, { from, to }: Ends, step: 'hour' | 'day') {
  if (from === undefined || to === undefined) return []
  const byTime = new Map<number, Point[]>()
  for (const point of await books.series({ from, to, step })) {
    const known = byTime.get(point.at)
    if (known) known.push(point)
    else byTime.set(point.at, [point])
  }
  return [...byTime].map(([at, sums]) => ({
    at: new Date(at).toISOString(),
    payments: total(sums, ({ payments }) => payments),
    ...formatRevenue(sums),
  }))
}
