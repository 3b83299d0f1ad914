/** `GET /api/analytics`: the summary of a period, beside that of the period before. */
import type { Period, Sum, Usage } from '../../core/ports/reports.ts'
import { isNotOnChain, readRevenueToken } from './format.ts'
import type { SummaryQuery } from './queries.ts'
import type { BooksParts } from './reports.ts'
import {
  byRevenue,
  floorTo,
  formatLines,
  formatPeriod,
  formatRevenue,
  hourMs,
  keptBy,
  mostEndpoints,
  total,
  wholeHours,
} from './reports.ts'

const topEndpoints = 10
/** Limit of the counts of open items. */
const mostCounted = 1_000

export async function readSummary(parts: BooksParts, query: SummaryQuery) {
  const { books, journal } = parts
  const { period, before } = comparedPeriod(query)
  await parts.flush()
  const [revenueToken, totals, endpoints, pending, unclaimed, previous] = await Promise.all([
    readRevenueToken(books),
    readTotals(parts, period),
    books.endpoints(period, mostEndpoints),
    books.listPayments({ status: 'pending', order: 'latest', most: mostCounted }),
    journal.unclaimed(mostCounted),
    before && readTotals(parts, before),
  ])
  const { sums, usage } = totals
  return {
    currencyBreakdown: keptBy(parts, sums),
    topEndpoints: formatLines(endpoints, usage)
      .filter(({ calls }) => calls > 0)
      .toSorted(byRevenue)
      .slice(0, topEndpoints)
      .map(({ endpoint, calls, payments, sums }) => ({ path: endpoint, calls, payments, ...formatRevenue(sums) })),
    revenueToken,
    ...computeTotals(totals),
    unvalued: total(sums, ({ unvalued }) => unvalued),
    ...formatPeriod(period),
    ...(previous && { previous: computeTotals(previous) }),
    pending: pending.filter((payment) => !isNotOnChain(payment)).length,
    // As in the list: a payment without a requestId of this service is an unrelated transfer to the wallet.
    unclaimed: unclaimed.filter(({ request }) => request !== '').length,
  }
}

interface PeriodTotals {
  readonly sums: readonly Sum[]
  readonly usage: readonly Usage[]
  /** Payments of the period for which nothing was delivered. */
  readonly undelivered: number
}

async function readTotals({ books }: BooksParts, period: Period): Promise<PeriodTotals> {
  const [sums, usage, undelivered] = await Promise.all([
    books.sums(period),
    books.usage(period),
    books.countUndelivered(period),
  ])
  return { sums, usage, undelivered: total(undelivered, ({ count }) => count) }
}

/** Deliveries are counted by payment, so they never exceed the payments, whenever a response was sent. */
function computeTotals({ sums, usage, undelivered }: PeriodTotals) {
  const challenged = total(
    usage.filter(({ event }) => event === 'challenged'),
    ({ count }) => count,
  )
  const payments = total(sums, (sum) => sum.payments)
  // The two counts are read one after the other.
  const funnel = { challenged, paid: payments, delivered: Math.max(0, payments - undelivered) }
  const { revenue: totalRevenue, gross, refunded } = formatRevenue(sums)
  return { totalRevenue, gross, refunded, payments, funnel }
}

/** A period in whole hours, and the one to compare it with; undefined for an open period. */
export function comparedPeriod(query: SummaryQuery): { readonly period: Period; readonly before: Period | undefined } {
  const period = wholeHours(query)
  const { from, to } = period
  if (from === undefined || to === undefined) return { period, before: undefined }
  const start = query.before === undefined ? from - (to - from) : floorTo(query.before, hourMs)
  return { period, before: { from: start, to: Math.min(start + to - from, from) } }
}
