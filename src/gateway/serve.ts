/** One request at the gateway: to the service's own endpoints, to its route's paywall and upstream, or to nowhere. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { attachPass, enterNode, sendAnswer, targetOf } from '../adapters/bridge.ts'
import { asciiJson } from '../core/http.ts'
import type { Trace } from '../core/ports.ts'
import type { Pass } from '../server/pass.ts'
import type { Paywall } from '../server/paywall.ts'
import { isOwnPath } from '../service/endpoints.ts'
import type { Find, Path } from './match.ts'
import { segmentsOf } from './match.ts'
import type { Outgoing } from './outgoing.ts'
import type { RoutePlan } from './plan.ts'
import { methodNames } from './schema.ts'
import { forwardTraced } from './traced.ts'
import type { Upstreams } from './upstream.ts'

/** The service's own endpoints, which come before every route. */
export interface OwnRoutes {
  owns(path: string): boolean
  listener(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

/** A route that is open for business. */
export interface OpenRoute extends RoutePlan {
  readonly paywall: Paywall | undefined
  readonly outgoing: Outgoing
}

/** What every request needs. */
export interface Floor {
  readonly find: Find<OpenRoute>
  readonly upstreams: Upstreams
  readonly own: OwnRoutes
  readonly trace: Trace
}

/** `waits`: the client has not sent its body yet, and wants to be told to. */
export function serve(floor: Floor, request: IncomingMessage, response: ServerResponse, waits: boolean): void {
  const target = targetOf(request.url ?? '/')
  const [path = ''] = target.split('?', 1)
  if (floor.own.owns(path)) {
    if (waits) response.writeContinue()
    floor.own.listener(request, response)
    return
  }
  const route = routeFor(floor, request, target)
  if (route) serveRoute(floor, route, { request, response, target, waits })
  else sendNothing(floor, response, target)
}

/** Nothing was found: is it the path, or only the method? */
function sendNothing({ find }: Floor, response: ServerResponse, target: string): void {
  const path = readPath(target)
  const allowed = path ? methodNames.filter((method) => find(method, path)) : []
  if (allowed.length === 0) sendProblem(response, 'not_found', 404, 'There is nothing for sale here.')
  else {
    const title = 'This address does not take that method.'
    sendProblem(response, 'method_not_allowed', 405, title, { Allow: allowed.join(', ') })
  }
}

interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: string
  readonly waits: boolean
}

function serveRoute(floor: Floor, route: OpenRoute, { request, response, target, waits }: Visit): void {
  const { paywall, upstream, outgoing } = route
  const deliver = (pass: Pass | undefined): void => {
    const fail = (why: string, status: 502 | 504): void => {
      if (response.headersSent || response.destroyed) return
      if (paywall && pass) sendAnswer(response, paywall.handlerFailed(why, status))
      else sendProblem(response, 'upstream_failed', status, 'The resource failed.')
    }
    if (waits && !(route.bindsBody && paywall)) response.writeContinue()
    const facts = pass?.facts()
    forwardTraced(
      { request, response, target, facts },
      { upstream, pool: floor.upstreams.poolFor(upstream), headersFor: () => outgoing(request, target, facts), fail },
      floor.trace,
    )
  }
  if (!paywall || isLeftToUpstream(route, request)) {
    deliver(undefined)
    return
  }
  if (waits && route.bindsBody) response.writeContinue()
  enterNode(paywall, request, target, {
    answer: (answer) => sendAnswer(response, answer),
    admit: (pass) => {
      if (attachPass(response, pass)) deliver(pass)
    },
    fail: (error) => {
      const answer = paywall.handlerFailed(error)
      if (response.headersSent) response.destroy()
      else sendAnswer(response, answer)
    },
  })
}

/** A preflight belongs to the route that it asks for. */
export function routeFor({ find }: Floor, request: IncomingMessage, target: string): OpenRoute | undefined {
  const path = readPath(target)
  if (!path) return undefined
  const { method = 'GET' } = request
  const asked = isPreflight(request) ? request.headers['access-control-request-method'] : undefined
  return find(method, path) ?? (asked === undefined ? undefined : find(asked, path))
}

/** The path of a target, where it is one that may have a route. */
function readPath(target: string): Path | undefined {
  const [text = ''] = target.split('?', 1)
  const path = segmentsOf(text)
  return !path || target.includes('#') || isOwnPath(text) ? undefined : path
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Where the upstream speaks to browsers itself, it is asked by them before anything is paid. */
function isLeftToUpstream({ provider, methods }: OpenRoute, request: IncomingMessage): boolean {
  return provider?.cors === false && isPreflight(request) && !methods.has('OPTIONS')
}

export function sendProblem(
  response: ServerResponse,
  code: string,
  status: number,
  title: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = asciiJson({ type: `urn:paystile:problem:${code}`, title, status, detail: title, code })
  response.writeHead(status, {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}
