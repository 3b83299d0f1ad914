/** The gateway: a server that sells what upstreams serve, route by route, and nothing that has no route. */
import type { Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { drain } from '../adapters/drain.ts'
import { createPaystileRoutes } from '../adapters/routes.ts'
import { ConfigurationError } from '../core/configuration-error.ts'
import { asciiJson } from '../core/http.ts'
import { createTrace, openLog } from '../server/assemble.ts'
import type { ReadinessReport } from '../server/selling.ts'
import { joinReports } from '../server/selling.ts'
import { endpoints } from '../service/endpoints.ts'
import { createFinding } from './finding.ts'
import type { GatewayConfig } from './options.ts'
import type { Plan } from './plan.ts'
import { planFor } from './plan.ts'
import { openRouteSet, type RouteSet } from './route-set.ts'
import { findSelf } from './self.ts'
import type { OpenRoute, OwnRoutes } from './serve.ts'
import { serve } from './serve.ts'
import { createUpgrades } from './upgrade.ts'

export interface Gateway {
  /** Where it listens, once it does. */
  readonly url: string | undefined
  readonly plan: Plan
  /** Resolves with its address when it takes connections. */
  listen(): Promise<string>
  /** Whether all that has a price can be sold, for health checks. Never rejects. */
  readiness(): Promise<ReadinessReport>
  /** No new connections, `503 shutting_down` for new proofs, running responses end; then everything is let go of. */
  close(): Promise<void>
}

export interface GatewayParts {
  /** Instead of the service's own endpoints. */
  readonly routes?: OwnRoutes
}

/**
 * A reverse proxy with a paywall for each route that has a price.
 *
 * What is wrong with the configuration is thrown at once as a `ConfigurationError` with all problems. Nothing is forwarded
 * that no route names.
 *
 * @example
 * const gateway = createGateway({
 *   network: 'localnet',
 *   recipient,
 *   token: 'USDC',
 *   upstream: 'http://127.0.0.1:3000',
 *   routes: [{ path: '/api/report', price: 0.01 }],
 * })
 * console.log(await gateway.listen())
 */
export function createGateway(config: GatewayConfig, parts: GatewayParts = {}): Gateway {
  return openGateway(planFor(config, process.env), parts)
}

/** The same from a plan that was read before. */
export function openGateway(plan: Plan, { routes: own }: GatewayParts = {}): Gateway {
  let current: RouteSet | undefined
  let url: string | undefined
  const readiness = async (): Promise<ReadinessReport> => {
    if (url === undefined) return { ready: false, offered: [], withheld: {}, why: 'it does not listen' }
    return joinReports(await Promise.all((current?.paywalls ?? []).map((paywall) => paywall.readiness())))
  }
  const floor = {
    find: createFinding<OpenRoute>([]),
    own: own ?? healthRoutes(readiness),
    trace: createTrace(),
  }
  const isSelling = plan.routes.some(({ provider }) => provider)
  const server = createServer(
    {
      headersTimeout: plan.headMs,
      requestTimeout: Math.max(plan.requestMs, plan.headMs),
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => serve(floor, request, response, false),
  )
  server.on('checkContinue', (request, response) => serve(floor, request, response, true))
  server.maxConnections = plan.connections
  server.keepAliveTimeout = keepAliveMs
  const upgrades = createUpgrades(floor)
  if (plan.routes.some(({ isWebSocket }) => isWebSocket)) server.on('upgrade', upgrades.listener)

  return {
    get url() {
      return url
    },
    plan,
    listen: async () => {
      const circles = await findSelf(plan)
      await listenOn(server, plan)
      if (circles.length > 0) {
        server.close()
        throw new ConfigurationError(circles)
      }
      const log = openLog(plan.service.log)
      // Such as too many open files when a connection is to be taken: those that are open go on.
      server.on('error', (error) => log.error('connection not taken', { why: error.message }))
      // Only now: a port that is taken opens neither ledger nor chain. No request is read before this is done.
      current = openRouteSet(plan, log)
      if (!own && isSelling) floor.own = createPaystileRoutes(plan.service)
      floor.find = createFinding(current.routes)
      url = `http://${hostOf(plan.host)}:${(server.address() as AddressInfo).port}`
      await current.start()
      return url
    },
    readiness,
    close: async () => {
      url = undefined
      upgrades.close()
      if (server.listening) await drain(server, ...(current?.paywalls ?? []), floor.own)
      await floor.own.close()
      await current?.close()
    },
  }
}

/** Longer than the balancers in front keep theirs, so that they never send into a connection that we close. */
const keepAliveMs = 65_000

function listenOn(server: Server, { host, port }: Plan): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

/** Where nothing is sold: that it lives. */
function healthRoutes(readiness: () => Promise<ReadinessReport>): OwnRoutes {
  const send = (response: ServerResponse, status: number, value: unknown): void => {
    const body = asciiJson(value)
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
  }
  return {
    owns: (path) => path === endpoints.health || path === endpoints.ready,
    listener: (request, response) => {
      if (request.url?.startsWith(endpoints.health)) return send(response, 200, { status: 'ok' })
      void readiness().then((report) => send(response, report.ready ? 200 : 503, report))
    },
    close: async () => {},
  }
}
