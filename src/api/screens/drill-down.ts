/** `GET /api/analytics/endpoint` and `/api/analytics/payer`: the page of one endpoint or payer in one response. */
import type { PaymentListQuery, Period, Point, Usage } from '../../core/ports/reports.ts'
import { usageEvents } from '../../core/ports/reports.ts'
import type { Catalog } from '../../paywall/runtime/catalog.ts'
import { readRevenueToken } from '../analytics/format.ts'
import type { EndpointQuery, PayerPageQuery, SummaryQuery } from '../analytics/queries.ts'
import { formatFeedRecords } from '../analytics/records.ts'
import {
  type BooksParts,
  ceilTo,
  countDelivered,
  floorTo,
  formatPeriod,
  formatTokens,
  total,
  wholeHours,
} from '../analytics/reports.ts'
import { comparedPeriod } from '../analytics/summary.ts'
import { formatOffer } from '../public/discovery.ts'
import { chooseStep, formatPoints, formatSums } from './chart.ts'

const dayMs = 86_400_000
const usualDays = 30
const mostDays = 366
const latestRecords = 10

export type PageReading =
  | { readonly kind: 'page'; readonly page: object }
  | { readonly kind: 'too_long'; readonly why: string }

type Ends = Required<Period>

/** The period and the one to compare with, by default the last 30 days. `stepMs` is the unit of the books. */
function readPeriods(parts: BooksParts, query: SummaryQuery, stepMs: number): { period: Ends; before: Ends } {
  const to = ceilTo(query.to ?? Math.max(parts.clock.now(), (query.from ?? 0) + 1), stepMs)
  const from = floorTo(query.from ?? to - usualDays * dayMs, stepMs)
  const { before } = comparedPeriod({ from, to, before: query.before })
  const start = floorTo(before?.from ?? from - (to - from), stepMs)
  return { period: { from, to }, before: { from: start, to: Math.min(start + to - from, from) } }
}

function tooLong({ from, to }: Ends): PageReading | undefined {
  const days = Math.ceil((to - from) / dayMs)
  if (days <= mostDays) return undefined
  return { kind: 'too_long', why: `the period has ${days} days; request at most ${mostDays} days` }
}

export async function readEndpointPage(
  parts: BooksParts & { readonly catalog: Pick<Catalog, 'entries'> },
  query: EndpointQuery,
): Promise<PageReading> {
  const { books } = parts
  const { endpoint } = query
  const { period, before } = readPeriods(parts, query, 3_600_000)
  const long = tooLong(period)
  if (long) return long
  const step = chooseStep(period)
  await parts.flush()
  const [revenueToken, points, earlier, usage, usageBefore, missing, missingBefore, list] = await Promise.all([
    readRevenueToken(books),
    books.series({ ...period, step, endpoint }),
    books.series({ ...before, step, endpoint }),
    books.usage(wholeHours(period)),
    books.usage(wholeHours(before)),
    books.countUndelivered(period),
    books.countUndelivered(before),
    readLatest(parts, { endpoint }),
  ])
  const own = (all: readonly Usage[]) => countUsage(all.filter((one) => one.endpoint === endpoint))
  const count = (some: readonly Point[]) => total(some, ({ payments }) => payments)
  const offers = parts.catalog.entries().filter(({ path }) => path === endpoint)
  const page = {
    endpoint,
    offers: offers.map(formatOffer),
    summary: {
      revenueToken,
      ...formatPeriod(period),
      ...formatSums(points),
      usage: { ...own(usage), ...countDelivered(endpoint, count(points), missing) },
      previous: {
        ...formatSums(earlier),
        usage: { ...own(usageBefore), ...countDelivered(endpoint, count(earlier), missingBefore) },
      },
    },
    ...formatChart(step, points, before, earlier),
    tokens: listTokens(parts, points),
    records: await formatFeedRecords(parts, list, revenueToken),
  }
  return { kind: 'page', page }
}

/** The books keep payers by day, so the period is extended to whole days. */
export async function readPayerPage(parts: BooksParts, query: PayerPageQuery): Promise<PageReading> {
  const { books } = parts
  const { payer } = query
  const { period, before } = readPeriods(parts, query, dayMs)
  const long = tooLong(period)
  if (long) return long
  const [revenueToken, points, earlier, [first], list] = await Promise.all([
    readRevenueToken(books),
    books.payerSeries({ ...period, payer }),
    books.payerSeries({ ...before, payer }),
    books.listPayments({ payer, order: 'oldest', most: 1 }),
    readLatest(parts, { payer }),
  ])
  const text = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())
  const page = {
    payer,
    first: text(first?.at),
    last: text(list[0]?.at),
    summary: { revenueToken, ...formatPeriod(period), ...formatSums(points), previous: formatSums(earlier) },
    ...formatChart('day', points, before, earlier),
    tokens: listTokens(parts, points),
    records: await formatFeedRecords(parts, list, revenueToken),
  }
  return { kind: 'page', page }
}

function readLatest({ books }: BooksParts, filter: Pick<PaymentListQuery, 'endpoint' | 'payer'>) {
  return books.listPayments({ ...filter, order: 'latest', most: latestRecords })
}

function formatChart(step: 'hour' | 'day', points: readonly Point[], before: Ends, earlier: readonly Point[]) {
  return { step, points: formatPoints(points), before: { ...formatPeriod(before), points: formatPoints(earlier) } }
}

/** The tokens with payments or refunds. */
function listTokens(parts: BooksParts, points: readonly Point[]) {
  const used = new Set(points.map(({ token }) => token))
  return formatTokens(parts, points).filter(({ token }) => used.has(token))
}

function countUsage(usage: readonly Usage[]) {
  return Object.fromEntries(
    usageEvents.map((event) => [
      event,
      total(
        usage.filter((one) => one.event === event),
        ({ count }) => count,
      ),
    ]),
  )
}
