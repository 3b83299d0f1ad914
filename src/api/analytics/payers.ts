/** `GET /analytics/payers`: the payers of a period, under pseudonyms, with the amounts that they paid. */
import type { PayerMark } from '../../core/ports/reports.ts'
import type { Cursors } from './cursor.ts'
import { readRevenueToken } from './format.ts'
import type { PayersQuery } from './queries.ts'
import { amountsBy, type BooksParts, ceilTo, floorTo, formatRevenue, total } from './reports.ts'

const dayMs = 86_400_000
const usualDays = 30
const mostDays = 366

export type PayersReading =
  | { readonly kind: 'payers'; readonly answer: object }
  | { readonly kind: 'too_long'; readonly why: string }

/** Sums are kept by day, so the period is extended to whole days. The response states the extended period. */
export async function readPayers(parts: BooksParts, query: PayersQuery): Promise<PayersReading> {
  const { order, limit, cursor } = query
  const to = ceilTo(query.to ?? Math.max(parts.clock.now(), (query.from ?? 0) + 1), dayMs)
  const from = floorTo(query.from ?? to - usualDays * dayMs, dayMs)
  if (to - from > mostDays * dayMs) {
    const days = (to - from) / dayMs
    return { kind: 'too_long', why: `the period has ${days} days; request at most ${mostDays} days` }
  }
  const revenueToken = await readRevenueToken(parts.books)
  const page = await parts.books.payers({ from, to, order, most: limit, ...(cursor && { after: cursor }) })
  const payers = page.payers.map(({ payer, sums, first, last }) => ({
    payer,
    payments: total(sums, ({ payments }) => payments),
    ...formatRevenue(sums),
    ...amountsBy(parts, sums),
    first: new Date(first).toISOString(),
    last: new Date(last).toISOString(),
  }))
  const ends = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  const next = page.next ? writePayerCursor(parts.cursors, page.next) : null
  return { kind: 'payers', answer: { revenueToken, ...ends, payers, next } }
}

/**
 * The list publishes amounts and pseudonyms, so a mark of these stays readable. A mark that names a payment is sealed.
 */
function writePayerCursor(cursors: Cursors, mark: PayerMark): string {
  return 'worth' in mark ? `${mark.worth}~${mark.payer}` : cursors.write(mark)
}

export function readPayerCursor(cursors: Cursors, text: string): PayerMark | undefined {
  const [, worth, payer] = /^(-?\d{1,40})~([\w-]{1,128})$/.exec(text) ?? []
  return worth === undefined || payer === undefined ? cursors.read(text) : { worth: BigInt(worth), payer }
}
