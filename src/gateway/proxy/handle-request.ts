/**
 * Handles one request at the gateway: by the service's own endpoints, by the paywall and upstream of its route, or with
 * 404.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Pool } from 'undici'
import { readIncoming, readTarget, sendAnswer } from '../../adapters/bridge.ts'
import { type MeteredResponse, meterResponse, wrap } from '../../adapters/node-response/metered-response.ts'
import type { Trace } from '../../core/runtime.ts'
import type { RequestOutcome } from '../../paywall/handle-request.ts'
import type { Paywall } from '../../paywall/paywall.ts'
import type { RoutePlan } from '../config/plan.ts'
import { methodNames } from '../config/schema.ts'
import { type Finding, readPath } from '../routing/route-cache.ts'
import type { RouteHealth } from '../upstream/health.ts'
import { forward, type ProxyRequest } from './forward.ts'
import { forwardPreflight } from './preflight.ts'
import { type ErrorPages, sendFailed, sendProblem } from './problem.ts'
import type { Outgoing } from './request-head.ts'
import { forwardTraced } from './trace.ts'

/** The service's own endpoints, which take precedence over every route. */
export interface OwnRoutes {
  /** Whether a path (`endpoints`) is served. */
  owns(path: string): boolean
  listener(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

/** A route with its open resources. */
export interface OpenRoute extends RoutePlan {
  readonly paywall: Paywall | undefined
  readonly outgoing: Outgoing
  readonly preflightHead: (request: IncomingMessage) => string[]
  readonly pool: Pool
  readonly health: RouteHealth
}

/** What every request needs. */
export interface RouteTable {
  readonly find: Finding<OpenRoute>
  readonly own: OwnRoutes
  readonly trace: Trace
  readonly pages: ErrorPages
}

/** `waits`: the client has not sent its body yet, and wants to be told to. */
export function serve(table: RouteTable, request: IncomingMessage, response: ServerResponse, waits: boolean): void {
  const target = readTarget(request.url ?? '/')
  // What belongs to the service itself has no route.
  const route = findRoute(table, request, target)
  if (route) serveRoute({ table, route, request, response, target, waits, metered: undefined })
  else if (table.own.owns(readPath(target))) {
    if (waits) response.writeContinue()
    table.own.listener(request, response)
  } else sendNothing(table, response, target)
}

/** Nothing was found: is it the path, or only the method? */
function sendNothing({ find, pages }: RouteTable, response: ServerResponse, target: string): void {
  const allowed = methodNames.filter((method) => find(method, target))
  if (allowed.length === 0) sendProblem(response, pages, 'not_found', 404, 'No route matches this address.')
  else {
    const title = 'This address does not support the method.'
    sendProblem(response, pages, 'method_not_allowed', 405, title, { Allow: allowed.join(', ') })
  }
}

/** A request on the way to the upstream of its route. */
interface Visit {
  readonly table: RouteTable
  readonly route: OpenRoute
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: string
  readonly waits: boolean
  /** Set if the response is tied to a payment. */
  metered: MeteredResponse | undefined
}

function serveRoute(visit: Visit): void {
  const { route, request, response, target, waits } = visit
  const { paywall } = route
  if (paywall && isLeftToUpstream(route, request)) {
    forwardPreflight(toProxyRequest(visit), route.preflightHead(request))
    return
  }
  if (!paywall) {
    if (waits) response.writeContinue()
    deliver(visit)
    return
  }
  if (waits && route.readsBody) response.writeContinue()
  const entry = paywall.enter(readIncoming(request, target))
  if (entry instanceof Promise) entry.then((decided) => proceed(visit, decided)).catch((error) => fail(visit, error))
  else proceed(visit, entry)
}

function proceed(visit: Visit, entry: RequestOutcome): void {
  const { route, response, waits } = visit
  if (entry.kind === 'answer') {
    sendAnswer(response, entry)
    return
  }
  visit.metered = entry.pass && meterResponse(response, entry.pass)
  if (entry.pass && !visit.metered) return
  if (waits && !route.readsBody) response.writeContinue()
  deliver(visit)
}

/** Handles an unexpected error, which is a defect of paystile. */
function fail({ table, route, response, metered }: Visit, error: unknown): void {
  const answer = route.paywall?.handlerFailed(error)
  if (metered) wrap(metered)
  if (response.headersSent || !answer) response.destroy()
  else sendFailed(response, table.pages, answer)
}

function deliver(visit: Visit): void {
  const { table, route, request, target, metered } = visit
  const proxyRequest = toProxyRequest(visit)
  if (table.trace.isOn()) forwardTraced(proxyRequest, route.outgoing, table.trace)
  else forward(proxyRequest, route.outgoing(request, target, metered?.pass.facts()))
}

function toProxyRequest({ table, route, request, response, target, metered }: Visit): ProxyRequest {
  const { paywall, upstream, pool, health } = route
  return { request, response, target, upstream, pool, health, paywall, metered, pages: table.pages }
}

/** A preflight belongs to the route that it asks for. Browsers always send `Origin`, so upstreams get no other ones. */
export function findRoute({ find }: RouteTable, request: IncomingMessage, target: string): OpenRoute | undefined {
  const { method = 'GET', headers } = request
  const found = find(method, target)
  if (found || !isPreflight(request)) return found
  const wanted = find(headers['access-control-request-method'] ?? '', target)
  return wanted?.config?.route.cors === false && headers.origin === undefined ? undefined : wanted
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** If the upstream handles CORS itself, it decides about preflights, without payment. */
function isLeftToUpstream({ config, methods }: OpenRoute, request: IncomingMessage): boolean {
  return config?.route.cors === false && isPreflight(request) && !methods.has('OPTIONS')
}
