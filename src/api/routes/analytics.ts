/** The endpoints of the analytics: single payments and totals. */
import type { z } from 'zod'
import * as analyticsAnswers from '../analytics/answers.ts'
import { readDetail } from '../analytics/detail.ts'
import { readPayerCursor, readPayers } from '../analytics/payers.ts'
import { readProblems } from '../analytics/problems.ts'
import { pageQuery, payersQuery, problemsQuery, seriesQuery, summaryQuery } from '../analytics/queries.ts'
import { type BooksParts, readAnalytics, readSeries } from '../analytics/reports.ts'
import type { PaymentStream } from '../analytics/stream.ts'
import { readSummary } from '../analytics/summary.ts'
import { type Access, mayRead } from '../http/access.ts'
import { answer, problem } from '../http/errors.ts'
import { readQuery } from '../http/inputs.ts'
import { endpoints } from '../http/paths.ts'
import { noQuery } from '../http/queries.ts'
import type { Row } from '../http/route.ts'
import type { RewardsParts } from '../rewards/view.ts'

export interface AnalyticsParts {
  readonly books: BooksParts
  readonly stream: PaymentStream
  readonly rewards: RewardsParts
}

export function analyticsRows({ books, stream, rewards }: AnalyticsParts): readonly Row[] {
  const readMark = (text: string) => books.cursors.read(text)
  const [list, wrong] = [pageQuery(readMark), problemsQuery(readMark)]
  const payers = payersQuery((text) => readPayerCursor(books.cursors, text))
  return [
    {
      method: 'GET',
      path: endpoints.payments,
      summary: 'List payments; usage, revenue and tokens of the period',
      isPrivate: true,
      query: list,
      answer: analyticsAnswers.analytics,
      handle: ({ url }) => withQuery(list, url, books, async (query, kept) => answer(await readAnalytics(kept, query))),
    },
    {
      method: 'GET',
      path: endpoints.stream,
      summary: 'Payments in real time, as server-sent events',
      isPrivate: true,
      query: noQuery,
      type: 'text/event-stream',
      handle: ({ url, request, accessNow }) =>
        withQuery(noQuery, url, books, async () => stream.open(request, async () => mayRead(await accessNow()))),
    },
    {
      method: 'GET',
      path: endpoints.payers,
      summary: 'Payers, under pseudonyms',
      isPrivate: true,
      query: payers,
      answer: analyticsAnswers.payers,
      handle: ({ url }) =>
        withQuery(payers, url, books, async (query, kept) => {
          const reading = await readPayers(kept, query)
          if (reading.kind === 'payers') return answer(reading.answer)
          return problem('query_invalid', { problems: [reading.why] })
        }),
    },
    {
      method: 'GET',
      path: endpoints.problems,
      summary: 'Payments that need attention',
      isPrivate: true,
      query: wrong,
      answer: analyticsAnswers.problemList,
      handle: ({ url, access }) =>
        withQuery(wrong, url, books, async (query, kept) =>
          answer(await readProblems(kept, query, { namesTransactions: (await access()).kind === 'owner', rewards })),
        ),
    },
    {
      method: 'GET',
      path: `${endpoints.payments}/{id}`,
      summary: 'One payment, with its transaction for a signed-in owner',
      isPrivate: true,
      query: noQuery,
      answer: analyticsAnswers.detail,
      handle: ({ url, access }) =>
        withQuery(noQuery, url, books, async (_, kept) => detailOf(kept, url, await access())),
    },
    {
      method: 'GET',
      path: endpoints.summary,
      summary: 'Summary of revenue by token and endpoint',
      isPrivate: true,
      query: summaryQuery,
      answer: analyticsAnswers.summary,
      handle: ({ url }) =>
        withQuery(summaryQuery, url, books, async (query, kept) => answer(await readSummary(kept, query))),
    },
    {
      method: 'GET',
      path: endpoints.series,
      summary: 'Revenue by hour or by day',
      isPrivate: true,
      query: seriesQuery,
      answer: analyticsAnswers.series,
      handle: ({ url }) =>
        withQuery(seriesQuery, url, books, async (query, kept) => {
          const reading = await readSeries(kept, query)
          if (reading.kind === 'series') return answer(reading.series)
          return problem('query_invalid', { problems: [reading.why] })
        }),
    },
  ]
}

async function withQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  url: URL,
  books: BooksParts,
  handle: (query: z.output<z.ZodObject<Shape>>, books: BooksParts) => Promise<Response>,
): Promise<Response> {
  const reading = readQuery(schema, url.searchParams)
  if (reading.kind === 'problems') {
    const { problems } = reading
    return problem('query_invalid', { problems })
  }
  return handle(reading.input, books)
}

async function detailOf(parts: BooksParts, url: URL, access: Access): Promise<Response> {
  const mark = parts.cursors.read(url.pathname.slice(endpoints.payments.length + 1))
  const detail = mark && (await readDetail(parts, mark.tx, access.kind === 'owner'))
  return detail
    ? answer(detail)
    : problem('not_found', { detail: 'No payment has this id. Use the id of a record in the list.' })
}
