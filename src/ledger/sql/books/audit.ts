/** Recounts the books and, on request, rewrites them. */
import type { TokenCode } from '../../../core/money/tokens.ts'
import type { Discrepancy } from '../../../core/payouts/discrepancy.ts'
import type { PaymentListMark } from '../../../core/ports/reports.ts'
import { revalued } from '../../rules/revaluation.ts'
import type { Grain, Line } from '../../rules/totals.ts'
import { parseRates, parseText } from '../../stored-text.ts'
import { all, type Dialect, first, raw, type SqlStore, sql, type Whole, type Work } from '../work.ts'
import { compareLines, type Recount, recount } from './recount.ts'
import { type BookedRow, bookedColumns, type CountsRow, listRefunds, readBooked, readCounts } from './totals.ts'

const pageSize = 2_000
/** A rebuild waits for running registrations, and removes all lines at once. */
const rebuildMs = 60_000

export function auditBooks({ snapshot, dialect }: SqlStore): Promise<readonly Discrepancy[]> {
  return snapshot(function* () {
    const found: Discrepancy[] = []
    yield* recount({
      page: function* (after) {
        return (yield* readPage(dialect, after)).map(readBooked)
      },
      refunds: (span) => listRefunds(dialect, span),
      each: function* ({ span, lines }) {
        found.push(...compareLines(yield* readLines(dialect, span), lines))
      },
    })
    return found
  })
}

/**
 * Registrations wait until the rebuild ends: ten to twenty seconds for a million payments. On PostgreSQL, a
 * registration that waits longer than its statement timeout fails with `LedgerUnavailable`. Run it while there are no
 * payments.
 */
export function rebuildBooks({ transactAlone, dialect }: SqlStore, reportToken: TokenCode): Promise<void> {
  return transactAlone(function* () {
    const before = yield* readReportToken()
    for (const table of ['rollups', 'payers']) yield { ...sql`DELETE FROM ${raw(`{${table}}`)}`, timeoutMs: rebuildMs }
    const revalue = <Paid extends ReturnType<typeof readBooked>>(booked: Paid, rates: string | null) => ({
      ...booked,
      worth: revalued({ ...booked, rates: parseRates(rates) }, before, reportToken),
    })
    yield* recount({
      page: function* (after) {
        const rows = (yield* readPage(dialect, after)).map((row) => ({ row, booked: readBooked(row) }))
        const page = rows.map(({ row, booked }) => ({ before: booked, after: revalue(booked, row.rates) }))
        yield* setWorth(
          dialect,
          page.flatMap(({ before, after }) => (before.worth === after.worth ? [] : [after])),
        )
        return page.map(({ after }) => after)
      },
      refunds: function* (span) {
        // The payment may be revalued later in the loop, because the times of the payment and of the refund come from
        // different clocks.
        return (yield* listRefunds(dialect, span)).map(({ booked, refund, rates }) => {
          const worth = revalued({ ...booked, rates: parseRates(rates) }, before, reportToken)
          return { booked: { ...booked, worth }, refund }
        })
      },
      each: ({ lines }) => dialect.addLines(lines),
    })
    yield sql`INSERT INTO {meta} (key, value) VALUES ('reportToken', ${reportToken})
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`
  })
}

export function* readReportToken(): Work<TokenCode | undefined> {
  const row = yield* first<{ readonly value: TokenCode }>(sql`SELECT value FROM {meta} WHERE key = 'reportToken'`)
  return row?.value
}

function readPage(dialect: Dialect, after: PaymentListMark | undefined) {
  const beyond = after ? sql`WHERE (paid.paid_at, paid.tx) > (${after.at}, ${after.tx})` : raw('')
  return all<BookedRow & { readonly rates: string | null }>(sql`SELECT paid.rates, ${bookedColumns(dialect)}
    FROM {payments} AS paid ${beyond} ORDER BY paid.paid_at, paid.tx LIMIT ${raw(String(pageSize))}`)
}

function* setWorth(
  { given, nextVersion }: Dialect,
  payments: readonly { readonly tx: Uint8Array; readonly worth: bigint | undefined }[],
): Work<void> {
  if (payments.length === 0) return
  const worths = given(payments, {
    tx: ['bytea', ({ tx }) => tx],
    worth: ['numeric', ({ worth }) => (worth === undefined ? null : String(worth))],
  })
  yield sql`UPDATE {payments} AS kept SET worth = given.worth${nextVersion} FROM ${worths} WHERE kept.tx = given.tx`
}

type LineRow = CountsRow & {
  readonly grain: Grain
  readonly at: Whole
  readonly endpoint: string
  readonly token: TokenCode
}

/** The lines of the books with a time in a span, or those without a time. */
function* readLines({ sums }: Dialect, span: Recount['span']): Work<readonly Line[]> {
  if (span === 'timeless') {
    const rows = yield* all<LineRow>(sql`SELECT grain, at, endpoint, token, ${sums(false)} FROM {rollups}
      WHERE grain IN ('all', 'endpoint') GROUP BY grain, at, endpoint, token`)
    return rows.map(readLine)
  }
  const isOwn = sql`at >= ${span[0]} AND at < ${span[1]}`
  const rows = yield* all<LineRow>(sql`SELECT grain, at, endpoint, token, ${sums(false)} FROM {rollups}
    WHERE grain IN ('hour', 'hour_endpoint', 'day_endpoint') AND ${isOwn} GROUP BY grain, at, endpoint, token`)
  const payers = yield* all<LineRow>(sql`SELECT 'day_payer' AS grain, at, payer AS endpoint, token, ${sums(false)}
    FROM {payers} WHERE ${isOwn} GROUP BY at, payer, token`)
  return [...rows, ...payers].map(readLine)
}

function readLine(row: LineRow): Line {
  const { grain, token } = row
  const endpoint = grain === 'day_payer' ? row.endpoint : parseText(row.endpoint)
  return { grain, at: Number(row.at), endpoint, token, ...readCounts(row) }
}
