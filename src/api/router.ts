/**
 * The service's own endpoints, for every framework and the gateway: a table of endpoints, and their common rules.
 * Private data is for owners, no response is cached, and errors have stable codes.
 */
import { type DecimalsOf, findDecimals, knownMints, type MintTable } from '../core/money/tokens.ts'
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import type { Clock } from '../core/runtime.ts'
import { compressPage } from '../paywall/pages/compress.ts'
import { showProblem } from '../paywall/pages/error-page.ts'
import { isForPeople } from '../paywall/pages/for-people.ts'
import type { Catalog } from '../paywall/runtime/catalog.ts'
import { createRateLimit } from '../paywall/runtime/rate-limit.ts'
import type { Runtime } from '../paywall/runtime/runtime.ts'
import { createCursors } from './analytics/cursor.ts'
import { readOutgoing } from './analytics/records.ts'
import type { BooksParts } from './analytics/reports.ts'
import { createStream } from './analytics/stream.ts'
import { routeTable } from './endpoints.ts'
import { type Access, createAccess, mayRead, turnAway, type Visitor } from './http/access.ts'
import { compressJson } from './http/compress-json.ts'
import { createPageResponse, problem } from './http/errors.ts'
import { endpoints, formatHome, ownPaths } from './http/paths.ts'
import type { ApiVisit, Row } from './http/route.ts'
import type { RoutesParts } from './parts.ts'
import { type DiscoveryParts, listRecipients } from './public/discovery.ts'
import { createHealth } from './public/health.ts'
import { createShownTransactions } from './public/verification.ts'
import type { PayoutsView, RewardsParts } from './rewards/view.ts'

export interface Routes {
  /** Whether a path belongs to the service. Such a path never reaches a resource. */
  owns(path: string): boolean
  handle(request: Request, visitor: Visitor): Promise<Response>
  close(): Promise<void>
}

export function createRoutes(parts: RoutesParts): Routes {
  const { service, signIn } = parts
  const { catalog, config, ledger, clock } = service
  const mints = (): MintTable => readMints(service, parts.mints)
  const cursors = createCursors(service.keyring.serviceKey)
  const books: BooksParts = {
    books: ledger.books,
    journal: ledger.journal,
    clock,
    cursors,
    flush: service.usage.flush,
    decimalsOf: createDecimals(service, parts.mints),
    outgoing: readOutgoing(ledger),
    nameOf: (requestId) => service.pseudonyms.request(requestId),
    payerOf: (wallet) => service.pseudonyms.wallet(wallet),
    peek: (tx) => ledger.peek(tx),
  }
  const stream = createStream({ ...books, changes: service.changes, log: service.log })
  const owners = () => listOwners(parts.owners, catalog)
  const admit = createAccess({
    network: config.network,
    owners,
    sessionOf: signIn && ((request) => signIn.sessionOf(request)),
    publicUrl: parts.publicUrl,
  })
  const discovery: DiscoveryParts = { service, mints, publicUrl: parts.publicUrl }
  const table = routeTable({
    routes: parts,
    books,
    stream,
    health: createHealth(service),
    owners,
    discovery,
    rewards: createRewardsParts(parts, mints),
    cursors,
    facilitator: parts.facilitator && { service, facilitator: parts.facilitator, trustProxy: parts.trustProxy },
    verification: {
      service,
      mints,
      trustProxy: parts.trustProxy,
      reads: createRateLimit(service.openLimits(), 'verify-payment'),
      shown: createShownTransactions(clock),
    },
  })
  const visit = (request: Request, visitor: Visitor): ApiVisit => {
    let access: Promise<Access> | undefined
    return {
      request,
      url: new URL(request.url),
      visitor,
      access: () => {
        access ??= admit(request, visitor)
        return access
      },
      accessNow: () => admit(request, visitor),
    }
  }

  return {
    owns: ownPaths(parts.frontPage),
    handle: async (request, visitor) => {
      const response = await callRoute(table, visit(request, visitor)).catch((error) => failed(service, error))
      return dated(await showPage(request, response, parts), clock)
    },
    close: async () => stream.close(),
  }
}

/** A problem becomes a page for people. */
async function showPage(request: Request, response: Response, parts: RoutesParts): Promise<Response> {
  if (response.headers.get('content-type') !== 'application/problem+json') return response
  const { service, seller, frontPage, publicUrl } = parts
  const { origin } = new URL(request.url)
  const header = (name: string) => request.headers.get(name) ?? undefined
  const asking = { method: request.method, header, origin: () => publicUrl ?? origin }
  if (!isForPeople(asking)) return response
  const headers = { 'Content-Type': 'application/problem+json' }
  const answer = { kind: 'answer', status: response.status, headers, body: await response.text() } as const
  const home = formatHome(frontPage, publicUrl)
  const { checkoutFiles, config } = service
  const pages = { seller, style: checkoutFiles.plainStyle, home, network: config.network }
  const shown = showProblem(answer, asking, pages)
  const page = await compressPage(shown, asking)
  for (const [name, value] of Object.entries(page.headers)) response.headers.set(name, value)
  return createPageResponse(page, response.headers)
}

/** Sets `Date` to the service's clock, which on a localnet can differ from the machine's. */
function dated(response: Response, clock: Clock): Response {
  response.headers.set('Date', new Date(clock.now()).toUTCString())
  return response
}

function createRewardsParts({ service, moneyOut }: RoutesParts, mints: () => MintTable): RewardsParts {
  const { rewards, outgoing } = service.ledger
  return { rewards, outgoing, clock: service.clock, mints, ...(moneyOut ?? noMoneyOut) }
}

const noMoneyOut: PayoutsView = {
  config: undefined,
  wallet: async () => undefined,
  isPaused: async () => false,
  refund: undefined,
}

/**
 * The mints that the codes of the ledger mean, also those of tokens that are no longer configured. Of the known codes,
 * the mints of the catalog take precedence.
 */
export function readMints({ config, catalog, tokens }: Runtime, configured: MintTable): MintTable {
  const sold = catalog.entries().map((entry) => entry.mints)
  return tokens.complete(Object.assign({}, knownMints[config.network], configured, ...sold))
}

/** Reads the current mints, because the catalog can change. */
export function createDecimals(service: Runtime, configured: MintTable): DecimalsOf {
  return (token) => findDecimals(token, readMints(service, configured))
}

/** The wallets that may read the revenue of a service. */
export function listOwners(owners: readonly string[] | undefined, catalog: Catalog): readonly string[] {
  return owners ?? listRecipients(catalog.entries())
}

function failed({ log }: Runtime, error: unknown): Response {
  const why = error instanceof Error ? error.message : String(error)
  if (error instanceof LedgerUnavailable) {
    log.error('ledger.unavailable', { why })
    return problem('ledger_unavailable')
  }
  log.error('api.failed', { why })
  return problem('internal_error')
}

async function callRoute(table: readonly Row[], visit: ApiVisit): Promise<Response> {
  const { request, url } = visit
  const rows = listRows(table, url.pathname)
  if (rows.length === 0)
    return problem('not_found', {
      detail: `No resource exists at this address. ${endpoints.openapi} lists all endpoints.`,
    })
  const any = rows.find(({ method }) => method === '*')
  if (any) return serve(any, visit)
  const methods = rows.map(({ method }) => method)
  const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
  if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: { Allow: allowed } })
  const isHead = request.method === 'HEAD'
  const row = rows.find(({ method }) => method === (isHead ? 'GET' : request.method))
  if (!row) return problem('method_not_allowed', { detail: `Use ${allowed}.`, headers: { Allow: allowed } })
  const response = await serve(row, visit)
  return isHead ? withoutBody(response) : response
}

/** The rows of one path: an exact match, or a row that also handles the paths below. */
function listRows(table: readonly Row[], path: string): readonly Row[] {
  const named = table.filter((row) => row.path === path)
  if (named.length > 0) return named
  return table.filter((row) => {
    const base = row.path.replace(/\/\{\w+\}$/, '')
    if (base !== row.path) return path.startsWith(`${base}/`) && !path.slice(base.length + 1).includes('/')
    return row.isWhole === true && path.startsWith(`${row.path}/`)
  })
}

async function serve(row: Row, visit: ApiVisit): Promise<Response> {
  if (!row.isPrivate) return row.handle(visit)
  const access = await visit.access()
  return mayRead(access) ? compressJson(visit.request, await row.handle(visit)) : turnAway(access)
}

/** The same response without its body, for a HEAD request. */
function withoutBody(response: Response): Response {
  response.body?.cancel().catch(() => {})
  return new Response(null, { status: response.status, headers: response.headers })
}
