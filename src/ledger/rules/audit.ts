/**
 * The books counted again from the payments. A day at a time, so that what is held at once is the lines of one day and
 * those that have no time, however many payments there are.
 */
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PaymentListMark } from '../../core/ports/reports.ts'
import type { Booked, BookedRefund, Counts, Line, LineKey, TotalsChange } from './totals.ts'
import {
  added,
  computeChange,
  computeStart,
  dayMs,
  gathered,
  isCounted,
  isNothing,
  listLines,
  nameLine,
  negated,
  noCounts,
  refundChange,
} from './totals.ts'

export type AuditPage = readonly (Booked & { readonly tx: Uint8Array })[]

/** Payments in the order of their time and transaction, a page at a time, all of them as they were at one moment. */
export type ReadPage = (after: PaymentListMark | undefined) => Promise<AuditPage> | AuditPage

/** Refunds that became final in a span and are counted, each with its payment; as they were at that same moment. */
export type ReadRefunds = (
  span: readonly [from: number, to: number],
) => Promise<readonly RefundOfPayment[]> | readonly RefundOfPayment[]
export interface RefundOfPayment {
  readonly booked: Booked
  readonly refund: BookedRefund
}

/** The lines of the books that have a time in a span, or those that have none; as they were at that same moment. */
export type ReadLines = (
  span: readonly [from: number, to: number] | 'timeless',
) => Promise<readonly Line[]> | readonly Line[]

/** Some lines as the payments have them, with the span of time that they cover wholly. */
export interface Recount {
  readonly span: readonly [from: number, to: number] | 'timeless'
  readonly lines: readonly Line[]
}

/** Everything, in parts whose spans follow each other without a gap; what has no time comes last. */
export async function* recount(readPage: ReadPage, readRefunds: ReadRefunds): AsyncGenerator<Recount> {
  const timeless = new Map<string, Line>()
  let changes: TotalsChange[] = []
  let [begins, day] = [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
  const close = async (until: number): Promise<Recount> => {
    const refunds = await readRefunds([begins, until])
    const lines = listLines([...changes, ...refunds.map(({ booked, refund }) => refundChange(booked, refund))])
    for (const line of lines.filter(isTimeless)) {
      const name = nameLine(line)
      timeless.set(name, { ...line, ...added(timeless.get(name) ?? noCounts, line) })
    }
    const part: Recount = { span: [begins, until], lines: lines.filter((line) => !isTimeless(line)) }
    changes = []
    begins = until
    return part
  }
  for (let page = await readPage(undefined); page.length > 0; page = await readPage(markOf(page))) {
    for (const payment of page) {
      if (computeStart(payment.paidAt, dayMs) !== day) {
        if (day > begins) yield await close(computeStart(payment.paidAt, dayMs))
        day = computeStart(payment.paidAt, dayMs)
      }
      if (isCounted(payment)) changes.push(computeChange(payment))
    }
    // Thousands of payments make few lines.
    changes = gathered(changes)
  }
  yield await close(Number.MAX_SAFE_INTEGER)
  yield { span: 'timeless', lines: [...timeless.values()] }
}

export async function compareBooks(
  readPage: ReadPage,
  readLines: ReadLines,
  readRefunds: ReadRefunds,
): Promise<readonly Discrepancy[]> {
  const found: Discrepancy[] = []
  for await (const { span, lines } of recount(readPage, readRefunds)) {
    const counted = new Map(lines.map((line) => [nameLine(line), line]))
    const kept = new Map((await readLines(span)).map((line) => [nameLine(line), line]))
    for (const [name, line] of new Map([...kept, ...counted])) {
      const [one, other] = [kept.get(name) ?? noCounts, counted.get(name) ?? noCounts]
      if (isNothing(added(one, negated(other)))) continue
      found.push({ line: tell(line), kept: tellCounts(one), counted: tellCounts(other) })
    }
  }
  return found
}

function isTimeless({ grain }: LineKey): boolean {
  return grain === 'all' || grain === 'endpoint'
}

function markOf(page: AuditPage): PaymentListMark | undefined {
  const last = page.at(-1)
  return last && { at: last.paidAt, tx: last.tx }
}

function tell(line: LineKey): string {
  const time = isTimeless(line) ? [] : [new Date(line.at).toISOString()]
  const endpoint = line.endpoint === '' ? [] : [line.endpoint]
  return [line.grain, ...time, ...endpoint, line.token].join(' ')
}

function tellCounts({ payments, received, worth, unvalued, refunded, refundedWorth }: Counts): string {
  const refunds =
    refunded === 0n && refundedWorth === 0n ? '' : `, refunded ${refunded}, refunded worth ${refundedWorth}`
  return `payments ${payments}, received ${received}, worth ${worth}, unvalued ${unvalued}${refunds}`
}
