/** One request at the gateway: to the service's own endpoints, to its route's paywall and upstream, or to nowhere. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Pool } from 'undici'
import { enterNode, sendAnswer, targetOf } from '../adapters/bridge.ts'
import type { Tie } from '../adapters/tie.ts'
import { tieTo, wrap } from '../adapters/tie.ts'
import type { Trace } from '../core/ports.ts'
import type { Paywall } from '../server/paywall.ts'
import type { Finding } from './finding.ts'
import { pathOf } from './finding.ts'
import { forward } from './forward.ts'
import type { Outgoing } from './outgoing.ts'
import type { RoutePlan } from './plan.ts'
import { sendProblem } from './problem.ts'
import { methodNames } from './schema.ts'
import { forwardTraced } from './traced.ts'

/** The service's own endpoints, which come before every route. */
export interface OwnRoutes {
  /** Of the service's addresses (`endpoints`) those that are served. */
  owns(path: string): boolean
  listener(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

/** A route that is open for business. */
export interface OpenRoute extends RoutePlan {
  readonly paywall: Paywall | undefined
  readonly outgoing: Outgoing
  readonly pool: Pool
}

/** What every request needs. */
export interface Floor {
  readonly find: Finding<OpenRoute>
  readonly own: OwnRoutes
  readonly trace: Trace
}

/** `waits`: the client has not sent its body yet, and wants to be told to. */
export function serve(floor: Floor, request: IncomingMessage, response: ServerResponse, waits: boolean): void {
  const target = targetOf(request.url ?? '/')
  // What belongs to the service itself has no route.
  const route = routeFor(floor, request, target)
  if (route) serveRoute(floor, route, { request, response, target, waits })
  else if (floor.own.owns(pathOf(target))) {
    if (waits) response.writeContinue()
    floor.own.listener(request, response)
  } else sendNothing(floor, response, target)
}

/** Nothing was found: is it the path, or only the method? */
function sendNothing({ find }: Floor, response: ServerResponse, target: string): void {
  const allowed = methodNames.filter((method) => find(method, target))
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

function serveRoute(floor: Floor, route: OpenRoute, visit: Visit): void {
  const { request, response, target, waits } = visit
  const { paywall } = route
  if (!paywall || isLeftToUpstream(route, request)) {
    if (waits) response.writeContinue()
    deliver(floor, route, visit, undefined)
    return
  }
  if (waits && route.bindsBody) response.writeContinue()
  let tie: Tie | undefined
  enterNode(paywall, request, target, {
    answer: (answer) => sendAnswer(response, answer),
    admit: (pass) => {
      tie = pass && tieTo(response, pass)
      if (pass && !tie) return
      if (waits && !route.bindsBody) response.writeContinue()
      deliver(floor, route, visit, tie)
    },
    fail: (error) => {
      const answer = paywall.handlerFailed(error)
      if (tie) wrap(tie)
      if (response.headersSent) response.destroy()
      else sendAnswer(response, answer)
    },
  })
}

function deliver({ trace }: Floor, route: OpenRoute, visit: Visit, tie: Tie | undefined): void {
  const { request, response, target } = visit
  const { paywall, upstream, pool, outgoing } = route
  const errand = { request, response, target, upstream, pool, paywall, tie }
  if (trace.isOn()) forwardTraced(errand, outgoing, trace)
  else forward(errand, outgoing(request, target, tie?.pass.facts()))
}

/** A preflight belongs to the route that it asks for. */
export function routeFor({ find }: Floor, request: IncomingMessage, target: string): OpenRoute | undefined {
  const { method = 'GET' } = request
  const found = find(method, target)
  if (found || !isPreflight(request)) return found
  return find(request.headers['access-control-request-method'] ?? '', target)
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Where the upstream speaks to browsers itself, it is asked by them before anything is paid. */
function isLeftToUpstream({ provider, methods }: OpenRoute, request: IncomingMessage): boolean {
  return provider?.cors === false && isPreflight(request) && !methods.has('OPTIONS')
}
