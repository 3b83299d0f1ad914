/** The endpoints that each serve one screen of the dashboard. */
import type { RefusalLog } from '../../core/payment/refusal-log.ts'
import type { Catalog } from '../../paywall/runtime/catalog.ts'
import { endpointQuery, payerQuery, summaryQuery } from '../analytics/queries.ts'
import type { BooksParts } from '../analytics/reports.ts'
import { problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { noQuery } from '../http/queries.ts'
import { type Row, readingRow } from '../http/route.ts'
import * as screens from '../screens/answers.ts'
import { type PageReading, readEndpointPage, readPayerPage } from '../screens/drill-down.ts'
import { type OverviewParts, readOverview } from '../screens/overview.ts'
import { changePrices, pricesBody } from '../screens/prices.ts'
import { refusalsQuery } from '../screens/queries.ts'
import { readRefusals } from '../screens/refusals.ts'
import { readService, type ServiceParts } from '../screens/service.ts'
import { readStatus, type StatusParts } from '../screens/status.ts'

export interface ScreensParts {
  readonly books: BooksParts
  readonly status: StatusParts
  readonly setup: OverviewParts['setup']
  readonly catalog: Pick<Catalog, 'entries'>
  readonly refusals: RefusalLog
  readonly service: Omit<ServiceParts, 'status' | 'access'>
}

export function screenRows({ books, status, setup, catalog, refusals, service }: ScreensParts): readonly Row[] {
  const readNow = () => readStatus(status)
  return [
    readingRow(
      endpoints.overview,
      'The home screen of the dashboard in one response',
      summaryQuery,
      { answer: screens.overview },
      (query) => readOverview({ books, status: readNow, setup, catalog }, query),
    ),
    readingRow(
      endpoints.endpoint,
      'One endpoint: its price, revenue, requests and latest payments',
      endpointQuery,
      { answer: screens.endpointPage },
      async (query) => showPage(await readEndpointPage({ ...books, catalog }, query)),
    ),
    readingRow(
      endpoints.payer,
      'One payer: its payments by day, and the latest of them',
      payerQuery,
      { answer: screens.payerPage },
      async (query) => showPage(await readPayerPage(books, query)),
    ),
    readingRow(
      endpoints.refusals,
      'The latest refused proofs of this process, with reasons',
      refusalsQuery,
      { answer: screens.refusalLog },
      async (query) => readRefusals(refusals, query),
    ),
    readingRow(
      endpoints.service,
      'Routes, nodes, owners and versions of this process',
      noQuery,
      { answer: screens.servicePage },
      async (_, { access }) => readService({ ...service, status: readNow, access: await access() }),
    ),
    {
      method: 'POST',
      path: endpoints.prices,
      summary: "Change prices in the gateway's file, or show the change before it is saved",
      isPrivate: true,
      body: pricesBody,
      answer: screens.priceEdit,
      handle: async ({ request, access }) => changePrices(service.prices, request, await access()),
    },
    readingRow(endpoints.status, 'Problems that need attention now', noQuery, { answer: screens.status }, readNow),
  ]
}

function showPage(reading: PageReading): object | Response {
  return reading.kind === 'page' ? reading.page : problem('query_invalid', { problems: [reading.why] })
}
