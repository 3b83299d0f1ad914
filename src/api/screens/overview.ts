/** `GET /api/analytics/overview`: the home screen of the dashboard in one response. */
import type { Period } from '../../core/ports/reports.ts'
import type { SummaryQuery } from '../analytics/queries.ts'
import { type BooksParts, formatPeriod, readAnalytics } from '../analytics/reports.ts'
import { comparedPeriod, readSummary } from '../analytics/summary.ts'
import { chooseStep, formatPoints } from './chart.ts'
import type { readStatus } from './status.ts'

const latestRecords = 25

export interface OverviewParts {
  readonly books: BooksParts
  readonly status: () => ReturnType<typeof readStatus>
  readonly setup: () => Promise<object>
}

export async function readOverview({ books: parts, status, setup }: OverviewParts, query: SummaryQuery) {
  const { period, before } = comparedPeriod(query)
  const step = chooseStep(period)
  const page = { order: 'latest', limit: latestRecords } as const
  const [summary, points, earlier, { tokens }, { records }, now, steps] = await Promise.all([
    readSummary(parts, query),
    readPoints(parts, period, step),
    before && readPoints(parts, before, step),
    readAnalytics(parts, { ...page, ...period, view: ['tokens'] }),
    readAnalytics(parts, { ...page, view: ['records'] }),
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

/** The hours or days with payments or refunds. An open period has none. */
async function readPoints({ books }: BooksParts, { from, to }: Period, step: 'hour' | 'day') {
  if (from === undefined || to === undefined) return []
  return formatPoints(await books.series({ from, to, step }))
}
