/**
 * The gateway: a server that sells the responses of upstreams, route by route. A request without a route is not served.
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { drain } from '../adapters/drain.ts'
import { openPaystileRoutes } from '../adapters/routes.ts'
import { endpoints, formatHome } from '../api/http/paths.ts'
import type { GatewayView } from '../api/parts.ts'
import type { PriceEditor } from '../api/screens/prices.ts'
import { createTrace, openLog, readCheckoutFiles } from '../compose/paywall.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import { asciiJson } from '../core/http/http.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { joinReports } from '../paywall/quote/readiness-report.ts'
import type { ReadinessReport } from '../paywall/runtime/catalog.ts'
import { within } from '../paywall/runtime/within.ts'
import { onlyYaml } from './config/file.ts'
import { createPlan, type Plan } from './config/plan.ts'
import { type FixedFacts, findFixed, readFixedFacts } from './config/reload.ts'
import type { GatewayConfig } from './config/schema.ts'
import { findSelf } from './config/self.ts'
import { createFormerRoutes } from './former-routes.ts'
import { type OpenRoute, type OwnRoutes, type RouteTable, serve } from './proxy/handle-request.ts'
import type { ErrorPages } from './proxy/problem.ts'
import { createUpgrades } from './proxy/websocket.ts'
import { openRouteSet, type RouteSet } from './route-set.ts'
import { createFinding } from './routing/route-cache.ts'

export interface Gateway {
  /** The address of the server while it listens. */
  readonly url: string | undefined
  /** The current plan. */
  readonly plan: Plan
  /** Resolves with the address when the server accepts connections. */
  listen(): Promise<string>
  /** Whether all priced routes can sell, for health checks. Never rejects. */
  readiness(): Promise<ReadinessReport>
  /**
   * Replaces the plan completely, or rejects with the reason and changes nothing. Running responses finish under the
   * old plan, and open quotes are honoured.
   */
  reload(plan: Plan): Promise<void>
  /** The first half of `reload`: opens the plan beside the current one. The next reload waits for its outcome. */
  prepare(plan: Plan): Promise<PreparedPlan>
  /** Reads the configuration again, and replaces the plan in all processes of this gateway or in none. */
  reloadAll(): Promise<void>
  /**
   * Accepts no new connections, refuses new proofs with `503 shutting_down`, waits for running responses, then releases
   * all resources.
   */
  close(): Promise<void>
}

/** A plan that is open, and not used yet. One of the two functions must be called. */
export interface PreparedPlan {
  /** Replaces the current plan. */
  commit(): Promise<void>
  /** Closes the plan. The current one stays. */
  abort(): void
}

export interface GatewayParts {
  /** Reads the configuration of this gateway again, for `reloadAll`. */
  readonly reloadAll?: () => Promise<void>
  /** Replaces the service's own endpoints. */
  readonly routes?: OwnRoutes
  /** Edits the prices in the gateway's file, where the plan allows it. */
  readonly prices?: PriceEditor
}

/**
 * A reverse proxy with a paywall for each priced route.
 *
 * Throws a `ConfigurationError` with all problems of the configuration. A request without a route is not forwarded.
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
  if (config.edit) throw new ConfigurationError([`edit: ${onlyYaml}`])
  return openGateway(createPlan(config, process.env), parts)
}

/** The same from a plan. */
export function openGateway(given: Plan, { routes: own, prices, reloadAll = noFile }: GatewayParts = {}): Gateway {
  let plan = given
  const former = createFormerRoutes()
  let fixed: FixedFacts = { listen: [], limits: [], service: undefined }
  const retiring = new Set<RouteSet>()
  let current: RouteSet | undefined
  let url: string | undefined
  const readiness = async (): Promise<ReadinessReport> => {
    if (url === undefined) return { ready: false, offered: [], withheld: {}, why: 'the server is not listening' }
    return joinReports(await Promise.all((current?.paywalls ?? []).map((paywall) => paywall.readiness())))
  }
  const table = createTable(plan, own ?? healthRoutes(readiness))
  const view: GatewayView = { upstreams: () => current?.listUpstreams() ?? [], prices }
  const openOwn = (next: Plan): OwnRoutes => own ?? (next.hasApi ? openApi(next, view) : healthRoutes(readiness))
  const server = createFront(plan, table)
  const upgrades = createUpgrades(table)
  const sets = (): readonly RouteSet[] => [...(current ? [current] : []), ...retiring]
  const takeUpgrades = (): void => {
    if (plan.routes.some(({ isWebSocket }) => isWebSocket) && server.listenerCount('upgrade') === 0)
      server.on('upgrade', upgrades.listener)
  }

  const open = async (next: Plan): Promise<PreparedPlan> => {
    const mustListen = (why: string): void => {
      if (!current || url === undefined) throw new PaystileError('closed', why)
    }
    mustListen('the gateway is not listening')
    const facts = readFixedFacts(next)
    const problems = [...findFixed(fixed, facts), ...(await findSelf(next))]
    if (problems.length > 0) throw new ConfigurationError(problems)
    const opened = await openBeside(next, openOwn, own, () => mustListen('the gateway was closed in the meantime'))
    return { commit: () => takeOver({ plan: next, facts, ...opened }), abort: opened.drop }
  }

  const takeOver = async ({ plan: next, facts, set: opened, own: routes }: Opening): Promise<void> => {
    if (!current) return
    const before = { set: current, own: table.own }
    // No quote is made between these lines and the next table.
    former.conclude(before.set.routes)
    former.honour(opened.routes)
    plan = next
    fixed = { ...facts, service: facts.service ?? fixed.service }
    current = opened
    table.find = createFinding(opened.routes)
    table.own = routes
    table.pages = readErrorPages(next)
    takeUpgrades()
    retiring.add(before.set)
    void before.set.retire().finally(() => retiring.delete(before.set))
    if (before.own !== routes) await before.own.close()
  }

  const { settled, ...reloads } = createReloads(open)
  return {
    get url() {
      return url
    },
    get plan() {
      return plan
    },
    listen: async () => {
      const circles = await findSelf(plan)
      await listenOn(server, plan)
      if (circles.length > 0) {
        server.close()
        throw new ConfigurationError(circles)
      }
      const log = openLog(plan.service.log)
      // For example too many open files. Existing connections continue.
      server.on('error', (error) => log.error('gateway.connection_failed', { why: error.message }))
      // Opened after the port, so that an occupied port opens neither ledger nor chain. No request is read before this
      // line.
      current = openRouteSet(plan, log)
      fixed = readFixedFacts(plan)
      table.own = openOwn(plan)
      table.find = createFinding(current.routes)
      takeUpgrades()
      url = `http://${hostOf(plan.host)}:${(server.address() as AddressInfo).port}`
      await current.start()
      return url
    },
    readiness,
    ...reloads,
    reloadAll,
    close: async () => {
      url = undefined
      upgrades.close()
      if (server.listening) await drain(server, ...sets().flatMap(({ paywalls }) => paywalls), table.own)
      await table.own.close()
      await Promise.all(sets().map((set) => set.close()))
      await settled()
    },
  }
}

function openApi({ service, isEditable }: Plan, { upstreams, prices }: GatewayView): OwnRoutes {
  return openPaystileRoutes(service, { upstreams, prices: isEditable ? prices : undefined })
}

/** Reloads run one at a time, because each needs the quotes of the one before. */
function createReloads(open: (plan: Plan) => Promise<PreparedPlan>) {
  let last: Promise<unknown> = Promise.resolve()
  const prepare = (plan: Plan): Promise<PreparedPlan> => {
    const opened = last.then(() => open(plan))
    let end: () => void = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    last = opened.then(
      () => ended,
      () => {},
    )
    return opened.then(({ commit, abort }) => ({
      commit: () => commit().finally(end),
      abort: () => {
        abort()
        end()
      },
    }))
  }
  return {
    prepare,
    reload: async (plan: Plan) => (await prepare(plan)).commit(),
    /** Resolves when the running reload has ended. */
    settled: () => last,
  }
}

/** Opens the routes of a plan beside those of another one. `check` throws if they are no longer wanted. */
async function openBeside(
  plan: Plan,
  openOwn: (plan: Plan) => OwnRoutes,
  shared: OwnRoutes | undefined,
  check: () => void,
): Promise<Pick<Opening, 'set' | 'own'> & { drop(): void }> {
  const set = openRouteSet(plan, openLog(plan.service.log))
  let routes: OwnRoutes | undefined
  const drop = (): void => {
    void set.retire()
    if (routes !== shared) void routes?.close()
  }
  try {
    routes = openOwn(plan)
    await Promise.all([set.start(), ...set.paywalls.map((paywall) => readyInTime(paywall))])
    check()
    return { set, own: routes, drop }
  } catch (error) {
    drop()
    throw error
  }
}

/** The parts of a plan that is open, and not used yet. */
interface Opening {
  readonly plan: Plan
  readonly facts: FixedFacts
  readonly set: RouteSet
  readonly own: OwnRoutes
}

async function noFile(): Promise<void> {
  throw new PaystileError('closed', 'this gateway has no configuration file')
}

/** Without routes until the gateway listens. */
function createTable(plan: Plan, own: OwnRoutes) {
  return { find: createFinding<OpenRoute>([]), own, trace: createTrace(), pages: readErrorPages(plan) }
}

/** The pages for requests that fail. */
function readErrorPages({ hasPages, seller, service, hasApi, publicUrl }: Plan): ErrorPages {
  if (!hasPages) return undefined
  const home = formatHome(hasApi && service.frontPage ? service.frontPage : undefined, publicUrl)
  return { seller, home, style: readCheckoutFiles().plainStyle, network: service.network }
}

/** Time limit for a new configuration to become ready. */
const readyMs = 10_000

async function readyInTime({ ready }: Paywall): Promise<void> {
  await within(readyMs, ready(), () => {
    throw new ConfigurationError(['the routes were not ready in time'])
  })
}

function createFront(plan: Plan, table: RouteTable): Server {
  const timeouts = { headersTimeout: plan.headMs, requestTimeout: Math.max(plan.requestMs, plan.headMs) }
  const server = createServer({ ...timeouts, connectionsCheckingInterval: 1_000 }, (request, response) =>
    serve(table, request, response, false),
  )
  server.on('checkContinue', (request, response) => serve(table, request, response, true))
  server.maxConnections = plan.connections
  server.keepAliveTimeout = keepAliveMs
  return server
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

/** Liveness endpoints of a gateway without priced routes. */
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
