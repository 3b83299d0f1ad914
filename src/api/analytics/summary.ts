/** `GET /api/analytics`: the summary of a period, beside that of the period before. */
import type { Period, Sum, Usage, UsageEvent } from '../../core/ports/reports.ts'
import { readRevenueToken } from './format.ts'
import type { SummaryQuery } from './queries.ts'
import type { BooksParts } from './reports.ts'
import { formatLines, formatPeriod, formatRevenue, keptBy, mostEndpoints, total, wholeHours } from './reports.ts'

const topEndpoints = 10
/** Limit of the counts of open items. */
const mostCounted = 1_000

export async function readSummary(parts: BooksParts, query: SummaryQuery) {
  const { books, journal } = parts
  const period = wholeHours(query)
  await parts.flush()
  const before = periodBefore(period)
  const [revenueToken, sums, endpoints, usage, pending, unclaimed, previous] = await Promise.all([
    readRevenueToken(books),
    books.sums(period),
    books.endpoints(period, mostEndpoints),
    books.usage(period),
    books.listPayments({ status: 'pending', order: 'latest', most: mostCounted }),
    journal.unclaimed(mostCounted),
    before && Promise.all([books.sums(before), books.usage(before)]),
  ])
  return {
    currencyBreakdown: keptBy(parts, sums),
    topEndpoints: formatLines(endpoints, usage)
      .filter(({ calls }) => calls > 0)
      .slice(0, topEndpoints)
      .map(({ endpoint, calls, payments, sums }) => ({ path: endpoint, calls, payments, ...formatRevenue(sums) })),
    revenueToken,
    ...computeTotals(sums, usage),
    unvalued: total(sums, ({ unvalued }) => unvalued),
    ...formatPeriod(period),
    ...(previous && { previous: computeTotals(...previous) }),
    pending: pending.length,
    // As in the list: a payment without a requestId of this service is an unrelated transfer to the wallet.
    unclaimed: unclaimed.filter(({ request }) => request !== '').length,
  }
}

function computeTotals(sums: readonly Sum[], usage: readonly Usage[]) {
  const countEvents = (event: UsageEvent): number =>
    total(
      usage.filter((one) => one.event === event),
      ({ count }) => count,
    )
  const payments = total(sums, (sum) => sum.payments)
  const funnel = { challenged: countEvents('challenged'), paid: payments, delivered: countEvents('delivered') }
  const { revenue: totalRevenue, gross, refunded } = formatRevenue(sums)
  return { totalRevenue, gross, refunded, payments, funnel }
}

/** The preceding period of the same length; undefined for an open period. */
function periodBefore({ from, to }: Period): Period | undefined {
  return from === undefined || to === undefined ? undefined : { from: from - (to - from), to: from }
}
