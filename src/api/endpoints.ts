/** The table of the service's own endpoints, and their entries in `/openapi.json`. */
import type { Cursors } from './analytics/cursor.ts'
import { filterQuery } from './analytics/queries.ts'
import type { BooksParts } from './analytics/reports.ts'
import type { PaymentStream } from './analytics/stream.ts'
import { noWebhooks } from './analytics/webhooks.ts'
import * as authAnswers from './auth/answers.ts'
import { signInBodies } from './auth/bodies.ts'
import type { Exports } from './exports/routes.ts'
import { type Access, mayRead, turnAway } from './http/access.ts'
import { answer, respond } from './http/errors.ts'
import { endpoints } from './http/paths.ts'
import type { ApiVisit, Documented, Row } from './http/route.ts'
import { openapiDocument } from './openapi.ts'
import type { RoutesParts } from './parts.ts'
import * as publicAnswers from './public/answers.ts'
import { verifyBody } from './public/bodies.ts'
import { type DiscoveryParts, llmsText, wellKnownDocument } from './public/discovery.ts'
import type { FacilitatorEndpoints } from './public/facilitator.ts'
import { frontPage } from './public/front-page.ts'
import { type Health, metricsEndpoint } from './public/health.ts'
import { type VerificationParts, verifyEndpoint } from './public/verification.ts'
import { noSettlement } from './rewards/settlement.ts'
import type { RewardsParts } from './rewards/view.ts'
import { analyticsRows } from './routes/analytics.ts'
import { developerRows } from './routes/developers.ts'
import { facilitatorRows } from './routes/facilitator.ts'
import { rewardsRows } from './routes/rewards.ts'
import { screenRows } from './routes/screens.ts'
import { webhookRows } from './routes/webhooks.ts'
import { shareReading } from './screens/shared-reading.ts'
import type { StatusParts } from './screens/status.ts'

export interface TableParts {
  readonly routes: RoutesParts
  readonly books: BooksParts
  readonly stream: PaymentStream
  readonly health: Health
  readonly discovery: DiscoveryParts
  readonly verification: VerificationParts
  readonly rewards: RewardsParts
  readonly cursors: Cursors
  /** The wallets that may read the revenue. */
  readonly owners: () => readonly string[]
  /** Undefined if the service is no facilitator. */
  readonly facilitator: FacilitatorEndpoints | undefined
}

const open = { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=60' } as const

export function routeTable(parts: TableParts): readonly Row[] {
  const { service, gateway } = parts.routes
  const { kv } = service.ledger
  const rows = [
    ...paymentRows(parts),
    ...analyticsRows({ ...parts, service }),
    ...screenRows({
      books: parts.books,
      status: createStatusParts(parts),
      setup: () => readSetup(parts),
      catalog: service.catalog,
      refusals: service.refusals,
      service: {
        service,
        owners: parts.owners,
        hasOwners: parts.routes.owners !== undefined,
        prices: { editor: gateway?.prices, kv, clock: service.clock, log: service.log },
        upstreams: gateway?.upstreams,
      },
    }),
    ...rewardsRows({ ...parts, settlement: parts.routes.settlement, sponsor: service, log: service.log }),
    ...webhookRows({ events: service.ledger.events, view: parts.routes.webhooks ?? noWebhooks }),
    ...developerRows(parts.routes.developers),
    ...facilitatorRows(parts.facilitator),
    ...healthRows(parts),
    ...discoveryRows(parts),
  ]
  const documented = rows.filter(({ method }) => method !== '*')
  const others = partDocuments(parts.routes)
  const openapi: Row = {
    method: 'GET',
    path: endpoints.openapi,
    summary: 'This document',
    isPrivate: false,
    handle: () => {
      const all = [...documented, openapi, ...others]
      return answer(openapiDocument(parts.discovery, all), { headers: open })
    },
  }
  return [...rows, openapi, ...partRows(parts.routes)]
}

/** Every open dashboard asks for the status, so the balances on the chain are read for all of them at once. */
const balancesMs = 10_000

function createStatusParts({ routes, books, rewards, health }: TableParts): StatusParts {
  const { clock } = routes.service
  const settlement = routes.settlement ?? noSettlement
  return {
    sales: async () => {
      const { faults, paused, withheld } = await health.look()
      return { faults: [...faults, ...paused], withheld }
    },
    books: books.books,
    rewards: { ...rewards, wallet: shareReading(rewards.wallet, clock, balancesMs) },
    settlement: { ...settlement, wallets: shareReading(settlement.wallets, clock, balancesMs) },
    sponsor: routes.service,
  }
}

/** The first steps of a new service. */
async function readSetup({ routes, books }: TableParts) {
  const sums = await books.books.sums({})
  return {
    hasPayments: sums.some(({ payments }) => payments > 0),
    hasOwners: routes.owners !== undefined,
    hasWebhooks: (routes.webhooks ?? noWebhooks).receivers.length > 0,
    isLive: routes.service.config.network === 'mainnet',
    frontPage: routes.frontPage ?? null,
  }
}

function paymentRows({ verification }: TableParts): readonly Row[] {
  return [
    {
      method: 'POST',
      path: endpoints.verifyPayment,
      summary: 'Check a payment without using it',
      isPrivate: false,
      body: verifyBody,
      answer: publicAnswers.verification,
      handle: async ({ request, visitor, access }) => verifyEndpoint(verification, request, visitor, await access()),
    },
  ]
}

function healthRows({ routes, health }: TableParts): readonly Row[] {
  return [
    {
      method: 'GET',
      path: endpoints.health,
      summary: 'The process is running',
      isPrivate: false,
      answer: publicAnswers.health,
      handle: () => alive(),
    },
    {
      method: 'GET',
      path: endpoints.ready,
      summary: 'All routes can sell, and the ledger responds; otherwise 503',
      isPrivate: false,
      answer: publicAnswers.readiness,
      handle: async ({ access }) => health.ready(mayRead(await access().catch(() => stranger))),
    },
    {
      method: 'GET',
      path: endpoints.metrics,
      summary: 'Metrics in the Prometheus text format',
      isPrivate: false,
      type: 'text/plain',
      handle: async ({ request, visitor, access }) =>
        metricsEndpoint(routes.service, request, {
          visitor,
          access: await access().catch(() => stranger),
          isOpen: routes.hasOpenMetrics,
        }),
    },
  ]
}

/** If the ledger is unavailable, the client cannot be identified and counts as a stranger. Health is still reported. */
const stranger: Access = { kind: 'stranger', wallet: undefined }

export function alive(): Response {
  return answer({ status: 'ok' })
}

function discoveryRows({ discovery, routes }: TableParts): readonly Row[] {
  const { seller, frontPage: path, service } = routes
  return [
    ...(path === undefined
      ? []
      : [
          {
            method: 'GET',
            path,
            summary: 'The items for sale: a page for people, JSON for programs',
            isPrivate: false,
            answer: publicAnswers.wellKnown,
            handle: ({ request, url }: ApiVisit) =>
              frontPage({ ...discovery, seller, style: service.checkoutFiles.plainStyle }, request, url),
          },
        ]),
    {
      method: 'GET',
      path: endpoints.llms,
      summary: 'Paid resources and payment instructions, for language models',
      isPrivate: false,
      type: 'text/plain',
      handle: () => respond(llmsText(discovery), 'text/plain; charset=utf-8', { headers: open }),
    },
    {
      method: 'GET',
      path: endpoints.wellKnown,
      summary: 'Network, keys, recipients, tokens and paid resources',
      isPrivate: false,
      answer: publicAnswers.wellKnown,
      handle: () => answer(wellKnownDocument(discovery), { headers: open }),
    },
  ]
}

/** The entries of parts that distinguish methods themselves. */
function partDocuments({ signIn, exports }: RoutesParts): readonly Documented[] {
  const one = (method: string, path: string, summary: string, more: Partial<Documented> = {}): Documented => {
    return { method, path, summary, isPrivate: false, ...more }
  }
  const secret = { isPrivate: true }
  const nonce = { body: signInBodies.nonce, answer: authAnswers.signInMessage }
  const session = { body: signInBodies.signIn, answer: authAnswers.session }
  return [
    ...(signIn
      ? [
          one('POST', `${endpoints.signIn}/nonce`, 'A message for a wallet to sign', nonce),
          one('POST', endpoints.signIn, 'Sign in with the signed message', session),
          one('GET', endpoints.signIn, 'The current session', { answer: authAnswers.signedIn }),
          one('POST', endpoints.signOut, 'End the session', { answer: authAnswers.signedOut }),
        ]
      : []),
    ...(exports
      ? [
          one('GET', endpoints.export, 'Payments as csv, json or xlsx, or a link for a spreadsheet (sheets)', {
            ...secret,
            query: filterQuery(['format']),
            type: 'text/csv',
          }),
          one('GET', endpoints.links, 'Open links to exports', secret),
          one('DELETE', `${endpoints.links}/{id}`, 'Revoke a link', secret),
        ]
      : []),
  ]
}

/** The endpoints of parts that distinguish methods themselves. A missing part has no endpoints. */
function partRows({ signIn, exports, faucet, dashboard, pay }: RoutesParts): readonly Row[] {
  const row = (path: string, handle: Row['handle']): Row => {
    return { method: '*', path, summary: '', isPrivate: false, isWhole: true, handle }
  }
  return [
    ...(signIn
      ? [endpoints.signIn, endpoints.signOut].map((path) =>
          row(path, ({ request, visitor }) => signIn.handle(request, visitor)),
        )
      : []),
    ...(exports ? exportRows(exports) : []),
    ...(faucet ? [row(endpoints.faucet, ({ request, visitor }) => faucet(request, visitor))] : []),
    ...(dashboard ? [row(endpoints.dashboard, ({ request, url }) => dashboard(request, url))] : []),
    ...(pay ? [row(endpoints.pay, ({ request, url, visitor }) => pay(request, url, visitor))] : []),
  ]
}

function exportRows(exports: Exports): readonly Row[] {
  const row = { method: '*', summary: '' }
  return [
    {
      ...row,
      path: endpoints.export,
      isPrivate: false,
      handle: async ({ request, access }) => {
        // A link needs no sign-in.
        if (exports.hasLink(request)) return exports.handle(request, '')
        const who = await access()
        return mayRead(who) ? exports.handle(request, who.kind === 'owner' ? who.wallet : '') : turnAway(who)
      },
    },
    {
      ...row,
      path: endpoints.links,
      isPrivate: true,
      isWhole: true,
      handle: ({ request }) => exports.handleLinks(request),
    },
  ]
}
