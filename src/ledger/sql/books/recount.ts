/**
 * Recounts the books from the payments, one day at a time. So memory holds only the lines of one day and those without
 * a time, for any number of payments.
 */
import type { Discrepancy } from '../../../core/payouts/discrepancy.ts'
import type { PaymentListMark } from '../../../core/ports/reports.ts'
import {
  added,
  type Booked,
  type BookedRefund,
  type Counts,
  computeChange,
  computeStart,
  dayMs,
  gathered,
  isCounted,
  isNothing,
  type Line,
  type LineKey,
  listLines,
  nameLine,
  negated,
  noCounts,
  refundChange,
  type TotalsChange,
} from '../../rules/totals.ts'
import type { Work } from '../work.ts'

export type AuditPage = readonly (Booked & { readonly tx: Uint8Array })[]

type Span = readonly [from: number, to: number]

export interface RefundOfPayment {
  readonly booked: Booked
  readonly refund: BookedRefund
}

/** All parts read the same consistent state. */
export interface RecountParts {
  /** Payments in the order of time and transaction, one page at a time. */
  page(after: PaymentListMark | undefined): Work<AuditPage>
  /** Counted refunds that became final in a span, with their payments. */
  refunds(span: Span): Work<readonly RefundOfPayment[]>
  /** Receives all lines, in parts with contiguous spans. The lines without a time come last. */
  each(part: Recount): Work<void>
}

/** Recounted lines, with the span of time that they cover completely. */
export interface Recount {
  readonly span: Span | 'timeless'
  readonly lines: readonly Line[]
}

export function* recount({ page, refunds, each }: RecountParts): Work<void> {
  const timeless = new Map<string, Line>()
  let changes: TotalsChange[] = []
  let [begins, day] = [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
  const close = function* (until: number): Work<void> {
    const sentBack = yield* refunds([begins, until])
    const lines = listLines([...changes, ...sentBack.map(({ booked, refund }) => refundChange(booked, refund))])
    for (const line of lines.filter(isTimeless)) {
      const name = nameLine(line)
      timeless.set(name, { ...line, ...added(timeless.get(name) ?? noCounts, line) })
    }
    yield* each({ span: [begins, until], lines: lines.filter((line) => !isTimeless(line)) })
    changes = []
    begins = until
  }
  for (let payments = yield* page(undefined); payments.length > 0; payments = yield* page(markOf(payments))) {
    for (const payment of payments) {
      if (computeStart(payment.paidAt, dayMs) !== day) {
        if (day > begins) yield* close(computeStart(payment.paidAt, dayMs))
        day = computeStart(payment.paidAt, dayMs)
      }
      if (isCounted(payment)) changes.push(computeChange(payment))
    }
    // Thousands of payments result in few lines.
    changes = gathered(changes)
  }
  yield* close(Number.MAX_SAFE_INTEGER)
  yield* each({ span: 'timeless', lines: [...timeless.values()] })
}

/** The lines in which the books differ from the payments. */
export function compareLines(ours: readonly Line[], counts: readonly Line[]): readonly Discrepancy[] {
  const counted = new Map(counts.map((line) => [nameLine(line), line]))
  const kept = new Map(ours.map((line) => [nameLine(line), line]))
  return [...new Map([...kept, ...counted])].flatMap(([name, line]) => {
    const [one, other] = [kept.get(name) ?? noCounts, counted.get(name) ?? noCounts]
    if (isNothing(added(one, negated(other)))) return []
    return [{ line: tell(line), kept: tellCounts(one), counted: tellCounts(other) }]
  })
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
