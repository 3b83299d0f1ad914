/**
 * Totals of payments, formatted for people. Sums come from the rollups, so their cost does not depend on the number of
 * payments.
 */
import { formatUnits } from '../../core/money/money.ts'
import { isKnownCode, knownCodes, type TokenCode } from '../../core/money/tokens.ts'
import { worthDecimals } from '../../core/money/valuation.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Books, EndpointSum, ListSum, Period, Point, Sum, Usage, UsageEvent } from '../../core/ports/reports.ts'
import { usageEvents } from '../../core/ports/reports.ts'
import type { Clock } from '../../core/runtime.ts'
import { cutPage } from '../http/paging.ts'
import type { Cursors } from './cursor.ts'
import { readRevenueToken } from './format.ts'
import type { PageQuery, SeriesQuery, View } from './queries.ts'
import { formatFeedRecords, type RecordParts } from './records.ts'
import { type ListedPayments, listInOrder, sumFound } from './search.ts'

export interface BooksParts extends RecordParts {
  readonly books: Books
  readonly journal: Journal
  readonly clock: Clock
  readonly cursors: Cursors
  /** Writes the counters of this process to the ledger. */
  readonly flush: () => Promise<void>
  /** Returns the pseudonym of a requestId. */
  readonly nameOf: (requestId: string) => string
  /** Returns the pseudonym of a wallet. */
  readonly payerOf: (wallet: Uint8Array) => string
  readonly peek: Ledger['peek']
}

export const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Limit of the endpoints that are summed. A path can hold any text, so the number of endpoints is unbounded. */
export const mostEndpoints = 1_000
const linesPerView = 100
const mostPoints = 2_000
/** Limit of the payments that the sums of a list read. */
const mostSummed = 10_000

const usualViews: readonly View[] = ['records', 'usage', 'revenue', 'tokens']

/** The list. Without a cursor also the totals of the period. `mayNameTransactions` is true for a signed-in owner. */
export async function readAnalytics(parts: BooksParts, query: PageQuery, mayNameTransactions = false) {
  const { books } = parts
  const { view, cursor, order, limit, from, to, endpoint, token, status, state, payer, q } = query
  const views = view ?? (cursor === undefined ? usualViews : ['records'])
  const wants = (one: View): boolean => views.includes(one)
  const period = wholeHours(query)
  const revenueToken = await readRevenueToken(books)
  const page = { from, to, endpoint, token, status, state, payer }
  const filter = Object.fromEntries(Object.entries(page).filter(([, value]) => value !== undefined))
  const asked = { ...filter, ...(cursor && { after: cursor }), order, most: limit + 1, q, revenueToken }
  const isListed = wants('records') || wants('totals')
  const { payments, names, isCut }: ListedPayments = isListed
    ? await listInOrder(parts, asked, mayNameTransactions)
    : { payments: [], names: [] }
  const { shown, last } = cutPage(payments, limit)
  if (wants('usage')) await parts.flush()
  const [usage, undelivered, endpoints, sums, found, booked] = await Promise.all([
    wants('usage') ? books.usage(period) : [],
    wants('usage') ? books.countUndelivered(period) : [],
    wants('usage') || wants('revenue') ? books.endpoints(period, mostEndpoints) : [],
    wants('tokens') ? books.sums(period) : [],
    wants('totals') ? sumFound(books, { ...filter, order: 'latest', most: mostSummed }, names) : [],
    wants('names') ? readNames(books) : undefined,
  ])
  const lines = formatLines(endpoints, usage)
  return {
    revenueToken,
    ...formatPeriod(period),
    ...(wants('records') && {
      records: await formatFeedRecords(parts, shown, revenueToken),
      next: last ? parts.cursors.write(last) : null,
      ...(isCut !== undefined && { isCut }),
    }),
    ...(wants('usage') && { usage: lines.slice(0, linesPerView).map((line) => usageLine(line, undelivered)) }),
    ...(wants('revenue') && {
      revenue: lines
        .filter(({ sums }) => sums.length > 0)
        .sort(byRevenue)
        .slice(0, linesPerView)
        .map((line) => revenueLine(parts, line)),
    }),
    ...(wants('tokens') && { tokens: formatTokens(parts, sums) }),
    ...(wants('totals') && { totals: formatTotals(parts, found) }),
    ...(booked && { names: booked }),
  }
}

/** The endpoints with the most payments, and the tokens. */
async function readNames(books: Books) {
  const [endpoints, sums] = await Promise.all([books.endpoints({}, linesPerView), books.sums({})])
  return { endpoints: [...new Set(endpoints.map(({ endpoint }) => endpoint))], tokens: listBooked(sums) }
}

/** Sums of the accepted payments of a list, and the numbers of the others. */
function formatTotals(parts: Pick<BooksParts, 'decimalsOf'>, sums: readonly ListSum[]) {
  const payments = total(sums, (sum) => sum.payments)
  const unaccepted = total(sums, (sum) => sum.unaccepted)
  const notOnChain = total(sums, (sum) => sum.notOnChain)
  const own = sums.map((sum) => ({ ...sum, received: sum.units, refunded: 0n }))
  const { gross, refunded } = formatRevenue(own)
  return {
    payments,
    unaccepted,
    notOnChain,
    isCut: payments + unaccepted + notOnChain >= mostSummed,
    worth: gross,
    refunded,
    unvalued: total(sums, ({ unvalued }) => unvalued),
    received: amountsBy(parts, own).received,
  }
}

export type SeriesReading =
  | { readonly kind: 'series'; readonly series: object }
  | { readonly kind: 'too_long'; readonly why: string }

/** Every hour or day of the period, including those without payments. */
export async function readSeries(parts: BooksParts, query: SeriesQuery): Promise<SeriesReading> {
  const { step, endpoint } = query
  const stepMs = step === 'hour' ? hourMs : dayMs
  const usualMs = step === 'hour' ? dayMs : 30 * dayMs
  const to = ceilTo(query.to ?? Math.max(parts.clock.now(), (query.from ?? 0) + 1), stepMs)
  const from = floorTo(query.from ?? to - usualMs, stepMs)
  const count = (to - from) / stepMs
  if (count > mostPoints) {
    const most = step === 'hour' ? `${mostPoints} hours, or for step=day` : `${mostPoints} days`
    return { kind: 'too_long', why: `the period has ${count} points; request at most ${most}` }
  }
  const found = await parts.books.series({ from, to, step, ...(endpoint !== undefined && { endpoint }) })
  const byTime = new Map<number, Point[]>()
  for (const point of found) byTime.set(point.at, [...(byTime.get(point.at) ?? []), point])
  const points = Array.from({ length: count }, (_, index) => {
    const at = from + index * stepMs
    const sums = byTime.get(at) ?? []
    return {
      at: new Date(at).toISOString(),
      payments: total(sums, ({ payments }) => payments),
      ...formatRevenue(sums),
      unvalued: total(sums, ({ unvalued }) => unvalued),
      ...amountsBy(parts, sums),
    }
  })
  const revenueToken = await readRevenueToken(parts.books)
  const ends = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  return { kind: 'series', series: { step, ...ends, endpoint: endpoint ?? null, revenueToken, points } }
}

/** Sums are kept by the hour, so the period is extended to whole hours. The response states the extended period. */
export function wholeHours({
  from,
  to,
}: {
  readonly from?: number | undefined
  readonly to?: number | undefined
}): Period {
  return {
    ...(from !== undefined && { from: floorTo(from, hourMs) }),
    ...(to !== undefined && { to: ceilTo(to, hourMs) }),
  }
}

export function formatPeriod({ from, to }: Period) {
  const text = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())
  return { from: text(from), to: text(to) }
}

export const floorTo = (at: number, step: number): number => Math.floor(at / step) * step
export const ceilTo = (at: number, step: number): number => Math.ceil(at / step) * step

/** Sales and requests of one endpoint. */
interface Line {
  readonly endpoint: string
  readonly sums: Sum[]
  readonly usage: Partial<Record<UsageEvent, number>>
  payments: number
  /** Net of refunds. */
  revenue: bigint
  calls: number
}

/** Sorted by calls, most first. Calls are payments and further uses of their allowances. */
export function formatLines(sums: readonly EndpointSum[], usage: readonly Usage[]): readonly Line[] {
  const lines = new Map<string, Line>()
  const createLine = (endpoint: string): Line => {
    const line = lines.get(endpoint) ?? { endpoint, sums: [], usage: {}, payments: 0, revenue: 0n, calls: 0 }
    lines.set(endpoint, line)
    return line
  }
  for (const sum of sums) {
    const line = createLine(sum.endpoint)
    line.sums.push(sum)
    line.payments += sum.payments
    line.revenue += computeNet(sum)
    line.calls += sum.payments
  }
  for (const { endpoint, event, count } of usage) {
    const line = createLine(endpoint)
    line.usage[event] = (line.usage[event] ?? 0) + count
    if (event === 'reused') line.calls += count
  }
  const byName = (one: Line, other: Line) => compare(one.endpoint, other.endpoint)
  return [...lines.values()].sort((one, other) => other.calls - one.calls || byName(one, other))
}

/** The most revenue first. Equal ones keep their order. */
export function byRevenue(one: Line, other: Line): number {
  return compare(other.revenue, one.revenue)
}

function usageLine({ endpoint, calls, payments, usage }: Line, undelivered: Undelivered) {
  const counts = Object.fromEntries(usageEvents.map((event) => [event, usage[event] ?? 0]))
  return { endpoint, calls, payments, ...counts, ...countDelivered(endpoint, payments, undelivered) }
}

type Undelivered = Awaited<ReturnType<Books['countUndelivered']>>

/** Deliveries are counted by payment, so they never exceed the payments, whenever a response was sent. */
export function countDelivered(endpoint: string, payments: number, undelivered: Undelivered) {
  // The two counts are read one after the other.
  const missing = undelivered.find((one) => one.endpoint === endpoint)?.count ?? 0
  return { delivered: Math.max(0, payments - missing), undelivered: missing }
}

function revenueLine(parts: BooksParts, { endpoint, payments, sums }: Line) {
  return {
    endpoint,
    payments,
    ...formatRevenue(sums),
    unvalued: total(sums, ({ unvalued }) => unvalued),
    ...amountsBy(parts, sums),
  }
}

const shareDecimals = 4

export function formatTokens(parts: BooksParts, sums: readonly Sum[]) {
  // A token with more refunds than receipts has no share.
  const computeGain = (some: readonly Sum[]): bigint => {
    const net = some.reduce((sum, one) => sum + computeNet(one), 0n)
    return net > 0n ? net : 0n
  }
  const findOwn = (token: TokenCode): readonly Sum[] => sums.filter((sum) => sum.token === token)
  const tokens = listBooked(sums)
  const whole = tokens.reduce((sum, token) => sum + computeGain(findOwn(token)), 0n)
  return tokens.map((token) => {
    const own = findOwn(token)
    const worth = computeGain(own)
    const { received, sentBack } = amountsBy(parts, own)
    return {
      token,
      payments: total(own, ({ payments }) => payments),
      received: received[token] ?? '0',
      sentBack: sentBack[token] ?? '0',
      ...formatRevenue(own),
      unvalued: total(own, ({ unvalued }) => unvalued),
      share: whole === 0n ? '0' : formatUnits((worth * 10n ** BigInt(shareDecimals)) / whole, shareDecimals),
    }
  })
}

/** Received and refunded amounts of each token. */
export function amountsBy(parts: Pick<BooksParts, 'decimalsOf'>, sums: readonly Sum[]) {
  return {
    received: amountBy(parts, sums, ({ received }) => received),
    sentBack: amountBy(parts, sums, ({ refunded }) => refunded),
  }
}

/** Received less refunded amount of each token. */
export function keptBy(parts: Pick<BooksParts, 'decimalsOf'>, sums: readonly Sum[]): Record<TokenCode, string> {
  return amountBy(parts, sums, ({ received, refunded }) => received - refunded)
}

/** The known tokens, and the other tokens of these sums. */
function listBooked(sums: readonly Sum[]): readonly TokenCode[] {
  const others = new Set(sums.map(({ token }) => token).filter((token) => !isKnownCode(token)))
  return [...knownCodes, ...[...others].sort()]
}

/** Always has the keys of the known tokens. A value is empty if its token has an amount but unknown decimals. */
function amountBy(
  { decimalsOf }: Pick<BooksParts, 'decimalsOf'>,
  sums: readonly Sum[],
  of: (sum: Sum) => bigint,
): Record<TokenCode, string> {
  const amounts: Record<TokenCode, string> = { NATIVE: '0', USDC: '0', SOL: '0' }
  for (const token of listBooked(sums)) {
    const units = sums.filter((sum) => sum.token === token).reduce((all, sum) => all + of(sum), 0n)
    const decimals = decimalsOf(token)
    amounts[token] = units === 0n ? '0' : decimals === undefined ? '' : formatUnits(units, decimals)
  }
  return amounts
}

/** Revenue is earnings less refunds. The result includes both. */
export function formatRevenue(sums: readonly Sum[]) {
  const formatSum = (of: (sum: Sum) => bigint): string =>
    formatUnits(
      sums.reduce((all, sum) => all + of(sum), 0n),
      worthDecimals,
    )
  return {
    revenue: formatSum(computeNet),
    gross: formatSum(({ worth }) => worth),
    refunded: formatSum(({ refundedWorth }) => refundedWorth),
  }
}

function computeNet({ worth, refundedWorth }: Sum): bigint {
  return worth - refundedWorth
}

export function total<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0)
}

function compare<Value extends bigint | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0
}
