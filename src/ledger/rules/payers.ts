/**
 * Pages of payers. The work for a page is bounded for any number of payments and payers: the databases answer small
 * queries by their indexes, and this file combines the results.
 */
import type { PayerPage, PayerQuery, PaymentListMark, Period, Sum } from '../../core/ports/reports.ts'
import { checkCount, checkDays } from './periods.ts'
import { dayMs } from './totals.ts'

/** The queries to a database. A payment counts unless it is late or reverted. */
export interface PayerSource {
  /** The payers with the highest payments of each day, `perDay` for each day of the period. */
  top(period: Required<Period>, perDay: number): Promise<readonly string[]>
  /** One line per payer and token, with the refunds of the period. */
  sums(period: Required<Period>, payers: readonly string[]): Promise<readonly (Sum & { readonly payer: string })[]>
  /** The times of the first and the last payment of each payer in the period. */
  spans(period: Required<Period>, payers: readonly string[]): Promise<readonly PayerSpan[]>
  /** Payments of the period after a mark, the latest first. */
  walk(period: Required<Period>, after: PaymentListMark | undefined, most: number): Promise<readonly PayerStep[]>
  /** The payers that have paid in the period at this payment or later. */
  seen(period: Required<Period>, payers: readonly string[], until: PaymentListMark): Promise<readonly string[]>
}

export interface PayerSpan {
  readonly payer: string
  readonly first: number
  readonly last: number
}

export type PayerStep = PaymentListMark & { readonly payer: string }

/** The approximate number of payers that are ranked by amount, and the minimum per day. */
const mostRanked = 1_000
const leastPerDay = 10
/** The number of payments read for a page of the latest payers, in total and per query. */
const mostWalked = 10_000
const walkedAtOnce = 500

export async function readPayers(source: PayerSource, query: PayerQuery): Promise<PayerPage> {
  checkDays(query)
  const most = checkCount(query.most)
  if (query.from >= query.to || most === 0) return { payers: [] }
  return query.order === 'revenue' ? byRevenue(source, query, most) : byTime(source, query, most)
}

/** `worth` is net of refunds. */
type Ranked = { readonly worth: bigint; readonly payer: string; readonly sums: readonly Sum[] }

async function byRevenue(source: PayerSource, query: PayerQuery, most: number): Promise<PayerPage> {
  const { from, to, after } = query
  const perDay = Math.max(leastPerDay, Math.ceil(mostRanked / ((to - from) / dayMs)))
  const candidates = [...new Set(await source.top({ from, to }, perDay))]
  const ranked = rankedOf(await source.sums({ from, to }, candidates))
  const beyond = ranked.filter((one) => !after || !('worth' in after) || compareRanks(after, one) < 0)
  const shown = beyond.slice(0, most)
  const last = beyond.length > most ? shown.at(-1) : undefined
  const payers = await withSpans(source, { from, to }, shown)
  return { payers, ...(last && { next: { worth: last.worth, payer: last.payer } }) }
}

async function byTime(source: PayerSource, query: PayerQuery, most: number): Promise<PayerPage> {
  const { from, to } = query
  const after = query.after && 'tx' in query.after ? query.after : undefined
  const found: string[] = []
  const known = new Set<string>()
  let mark: PaymentListMark | undefined = after
  let isMore = true
  for (let walked = 0; isMore && walked < mostWalked && found.length < most; walked += walkedAtOnce) {
    const steps = await source.walk({ from, to }, mark, walkedAtOnce)
    isMore = steps.length === walkedAtOnce
    const fresh = firstOf(steps.filter(({ payer }) => !known.has(payer)))
    const before = after
      ? await source.seen(
          { from, to },
          fresh.map(({ payer }) => payer),
          after,
        )
      : []
    for (const { payer } of fresh) known.add(payer)
    const own = fresh.filter(({ payer }) => !before.includes(payer))
    const taken = own.slice(0, most - found.length)
    found.push(...taken.map(({ payer }) => payer))
    const isCut = own.length > taken.length
    mark = (isCut ? taken.at(-1) : steps.at(-1)) ?? mark
    isMore ||= isCut
  }
  const sums = rankedOf(await source.sums({ from, to }, found))
  const inOrder = found.flatMap((payer) => sums.find((one) => one.payer === payer) ?? [])
  const payers = await withSpans(source, { from, to }, inOrder)
  return { payers, ...(isMore && mark && { next: { at: mark.at, tx: mark.tx } }) }
}

/** The latest step of each payer. */
function firstOf(steps: readonly PayerStep[]): readonly PayerStep[] {
  const first = new Map<string, PayerStep>()
  for (const step of steps) if (!first.has(step.payer)) first.set(step.payer, step)
  return [...first.values()]
}

function rankedOf(lines: readonly (Sum & { readonly payer: string })[]): readonly Ranked[] {
  const payers = new Map<string, Sum[]>()
  for (const { payer, ...sum } of lines) payers.set(payer, [...(payers.get(payer) ?? []), sum])
  const ranked = [...payers].map(([payer, sums]) => ({
    payer,
    sums: sums.sort((one, other) => (one.token < other.token ? -1 : 1)),
    worth: sums.reduce((total, { worth, refundedWorth }) => total + worth - refundedWorth, 0n),
  }))
  return ranked.sort(compareRanks)
}

/** The highest amount first. */
function compareRanks(one: Omit<Ranked, 'sums'>, other: Omit<Ranked, 'sums'>): number {
  if (one.worth !== other.worth) return one.worth > other.worth ? -1 : 1
  return one.payer < other.payer ? -1 : one.payer > other.payer ? 1 : 0
}

async function withSpans(source: PayerSource, period: Required<Period>, ranked: readonly Ranked[]) {
  const spans = await source.spans(
    period,
    ranked.map(({ payer }) => payer),
  )
  const byPayer = new Map(spans.map((span) => [span.payer, span]))
  return ranked.map(({ payer, sums }) => {
    const { first, last } = byPayer.get(payer) ?? { first: period.from, last: period.from }
    return { payer, sums, first, last }
  })
}
