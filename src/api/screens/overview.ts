/** `GET /api/analytics/overview`: the home screen of the dashboard in one response. */
import type { Period } from '../../core/ports/reports.ts'
import type { Catalog } from '../../paywall/runtime/catalog.ts'
import type { SummaryQuery } from '../analytics/queries.ts'
import { type BooksParts, formatPeriod, type formatTokens, readAnalytics } from '../analytics/reports.ts'
import { comparedPeriod, readSummary } from '../analytics/summary.ts'
import { chooseStep, formatPoints } from './chart.ts'
import type { readStatus } from './status.ts'

const latestRecords = 25

export interface OverviewParts {
  readonly books: BooksParts
  readonly status: () => ReturnType<typeof readStatus>
  readonly setup: () => Promise<object>
  readonly catalog: Pick<Catalog, 'entries'>
}

export async function readOverview({ books: parts, status, setup, catalog }: OverviewParts, query: SummaryQuery) {
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
    tokens: listUsed(tokens ?? [], catalog),
    records,
    status: now,
    setup: steps,
  }
}

/** The accepted tokens, and those with payments or refunds. */
function listUsed(tokens: ReturnType<typeof formatTokens>, catalog: OverviewParts['catalog']) {
  const accepted = new Set(catalog.entries().flatMap(({ acceptedMints }) => acceptedMints))
  return tokens.filter(({ token, payments, sentBack }) => accepted.has(token) || payments > 0 || sentBack !== '0')
}

/** The hours or days with payments or refunds. An open period has none. */
async function readPoints({ books }: BooksParts, { from, to }: Period, step: 'hour' | 'day') {
  if (from === undefined || to === undefined) return []
  return formatPoints(await books.series({ from, to, step }))
}
