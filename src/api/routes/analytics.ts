/** The endpoints of the analytics: single payments and totals. */
import * as answers from '../analytics/answers.ts'
import { type DetailView, readDetail } from '../analytics/detail.ts'
import { readPayerCursor, readPayers } from '../analytics/payers.ts'
import { readProblems } from '../analytics/problems.ts'
import { pageQuery, payersQuery, problemsQuery, receiptQuery, seriesQuery, summaryQuery } from '../analytics/queries.ts'
import { type ReceiptParts, readReceipt } from '../analytics/receipt.ts'
import { type BooksParts, readAnalytics, readSeries } from '../analytics/reports.ts'
import type { PaymentStream } from '../analytics/stream.ts'
import { readSummary } from '../analytics/summary.ts'
import { type Access, mayRead, turnAway } from '../http/access.ts'
import { problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { noQuery } from '../http/queries.ts'
import { type Row, readingRow } from '../http/route.ts'
import { type RewardsParts, readRefunds } from '../rewards/view.ts'

export interface AnalyticsParts {
  readonly books: BooksParts
  readonly stream: PaymentStream
  readonly rewards: RewardsParts
  readonly service: ReceiptParts['service']
}

const latestRefunds = 25

export function analyticsRows({ books, stream, rewards, service }: AnalyticsParts): readonly Row[] {
  const readMark = (text: string) => books.cursors.read(text)
  const payersCursor = (text: string) => readPayerCursor(books.cursors, text)
  return [
    readingRow(
      endpoints.payments,
      'List payments; usage, revenue and tokens of the period',
      pageQuery(readMark),
      { answer: answers.analytics },
      async (query, { access }) => readAnalytics(books, query, (await access()).kind === 'owner'),
    ),
    readingRow(
      endpoints.stream,
      'Payments in real time, as server-sent events',
      noQuery,
      { type: 'text/event-stream' },
      async (_, { request, accessNow }) => stream.open(request, async () => mayRead(await accessNow())),
    ),
    readingRow(
      endpoints.payers,
      'Payers, under pseudonyms',
      payersQuery(payersCursor),
      { answer: answers.payers },
      async (query) => {
        const reading = await readPayers(books, query)
        return reading.kind === 'payers' ? reading.answer : problem('query_invalid', { problems: [reading.why] })
      },
    ),
    readingRow(
      endpoints.problems,
      'Payments that need attention',
      problemsQuery(readMark),
      { answer: answers.problemList },
      async (query, { access }) => ({
        ...(await readProblems(books, query, { namesTransactions: (await access()).kind === 'owner', rewards })),
        refunds: await readRefunds(rewards, latestRefunds),
      }),
    ),
    readingRow(
      `${endpoints.payments}/{id}`,
      'One payment, with its transaction for a signed-in owner',
      noQuery,
      { answer: answers.detail },
      async (_, { url, access }) =>
        detailOf(books, url, { namesTransactions: (await access()).kind === 'owner', rewards }),
    ),
    readingRow(
      endpoints.receipt,
      'The signed receipt of a payment, for a signed-in owner',
      receiptQuery,
      { answer: answers.receipt },
      async ({ id }, { access }) => showReceipt({ ...books, service }, id, await access()),
    ),
    readingRow(
      endpoints.summary,
      'Summary of revenue by token and endpoint',
      summaryQuery,
      { answer: answers.summary },
      (query) => readSummary(books, query),
    ),
    readingRow(
      endpoints.series,
      'Revenue by hour or by day',
      seriesQuery,
      { answer: answers.series },
      async (query) => {
        const reading = await readSeries(books, query)
        return reading.kind === 'series' ? reading.series : problem('query_invalid', { problems: [reading.why] })
      },
    ),
  ]
}

async function showReceipt(parts: BooksParts & ReceiptParts, id: string, access: Access): Promise<object | Response> {
  if (access.kind !== 'owner') return turnAway(access)
  const mark = parts.cursors.read(id)
  const reading = mark && (await readReceipt(parts, mark.tx))
  if (reading?.kind === 'receipt') return reading.receipt
  if (reading?.kind === 'unavailable') return problem('chain_unavailable')
  return problem('not_found', { detail: reading?.why ?? unknownId })
}

const unknownId = 'No payment has this id. Use the id of a record in the list.'

async function detailOf(parts: BooksParts, url: URL, view: DetailView): Promise<object | Response> {
  const mark = parts.cursors.read(url.pathname.slice(endpoints.payments.length + 1))
  const detail = mark && (await readDetail(parts, mark.tx, view))
  return detail ?? problem('not_found', { detail: unknownId })
}
