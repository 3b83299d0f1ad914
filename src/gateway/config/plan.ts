/** From a configuration to what a gateway does: every route with its paywall's options and its upstream, or all problems. */
import { createHash } from 'node:crypto'
import type { RoutesOptions } from '../../api/options.ts'
import { readRoutesConfig } from '../../api/options.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import type { TokenCode } from '../../core/money/tokens.ts'
import type { Environment } from '../../paywall/config/config.ts'
import { readConfig } from '../../paywall/config/config.ts'
import { parseEndpoint } from '../../paywall/config/endpoint.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'
import { isKeptHeader } from '../headers.ts'
import type { Row } from '../routing/match.ts'
import { parsePattern } from '../routing/match.ts'
import type { GatewayConfig } from './options.ts'
import type { Place, Problem } from './problems.ts'
import { describeIssue, nameRoute, readIssue } from './problems.ts'
import { checkPartners, readRewards } from './rewards.ts'
import { checkTable } from './route-conflicts.ts'
import type { ReadConfig } from './schema.ts'
import { configSchema, headerName, namesAt } from './schema.ts'

export interface UpstreamPlan {
  /** `http://127.0.0.1:3000`. */
  readonly origin: string
  /** What comes before the path of every request: '' or `/v1`. */
  readonly prefix: string
  /** What the upstream is told under these names, in lower case, whatever a client says. */
  readonly headers: Readonly<Record<string, string>>
  /** Headers that are let through although they are kept otherwise, in lower case. */
  readonly forward: readonly string[]
  readonly preserveHost: boolean
  readonly connectMs: number
  readonly answerMs: number
  readonly idleMs: number
  /** How it is told whether the upstream is well: by this path, or by connecting to it. */
  readonly probe: { readonly path: string | undefined; readonly everyMs: number }
}

export interface RoutePlan extends Row {
  readonly path: string
  /** `GET /api/weather`. */
  readonly name: string
  /** Undefined where it costs nothing. */
  readonly provider: ProviderOptions | undefined
  readonly upstream: UpstreamPlan
  readonly isWebSocket: boolean
  /** Whether the paywall may have to read the body before it can tell the price. */
  readonly readsBody: boolean
}

export interface Plan {
  readonly host: string
  readonly port: number
  readonly routes: readonly RoutePlan[]
  readonly connections: number
  readonly headMs: number
  readonly requestMs: number
  readonly trustProxy: number
  readonly publicUrl: string | undefined
  /** For the service's own endpoints. */
  readonly service: RoutesOptions
  readonly reportToken: TokenCode | undefined
  readonly webhooks: NonNullable<ReadConfig['webhooks']>
}

export type PlanReading =
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }

export function readPlan(config: unknown, environment: Environment): PlanReading {
  const reading = configSchema.safeParse(withoutUndefined(config), { reportInput: true, error: describeIssue })
  if (!reading.success) {
    return { kind: 'problems', problems: reading.error.issues.flatMap((issue) => readIssue(issue, namesAt)) }
  }
  const { data } = reading
  const problems: Problem[] = []
  const routes = data.routes.flatMap((_, index) => readRoute(data, index, environment, problems) ?? [])
  if (routes.length === data.routes.length) problems.push(...checkTable(routes))
  problems.push(...checkPartners(data))
  const service = serviceOf(data, routes, environment)
  // What it shares with the paywalls they have told already, and without a price nobody needs it.
  if (problems.length === 0 && routes.some(({ provider }) => provider))
    problems.push(...told(() => readRoutesConfig(service, environment)))
  if (problems.length > 0) return { kind: 'problems', problems: distinct(problems) }
  const { listen, limits } = data
  const plan: Plan = {
    host: listen?.host ?? '127.0.0.1',
    port: listen?.port ?? 8402,
    routes,
    connections: limits?.connections ?? 10_000,
    headMs: (limits?.headSeconds ?? 10) * 1000,
    requestMs: (limits?.requestSeconds ?? 30) * 1000,
    trustProxy: data.trustProxy ?? 0,
    publicUrl: (data.publicUrl ?? environment['PAYSTILE_PUBLIC_URL'])?.replace(/\/$/, ''),
    service,
    reportToken: data.reportToken,
    webhooks: data.webhooks ?? [],
  }
  return { kind: 'plan', plan }
}

/** The plan of a configuration; throws a `ConfigurationError` with all problems. */
export function createPlan(config: GatewayConfig, environment: Environment): Plan {
  const reading = readPlan(config, environment)
  if (reading.kind === 'plan') return reading.plan
  throw new ConfigurationError(reading.problems.map(({ place, why }) => `${nameRoute(place)}: ${why}`))
}

type RouteRead = ReadConfig['routes'][number]

function readRoute(
  data: ReadConfig,
  index: number,
  environment: Environment,
  problems: Problem[],
): RoutePlan | undefined {
  const route = data.routes[index] as RouteRead
  const at = (...more: Place): Place => ['routes', index, ...more]
  const before = problems.length
  const reading = parsePattern(route.path)
  if (reading.kind === 'problem') problems.push({ place: at('path'), why: reading.why })
  const upstream = readUpstream(data, route, at, problems)
  const methods = new Set(route.methods ?? ['GET'])
  if (methods.has('GET')) methods.add('HEAD')
  const name = `${(route.methods ?? ['GET']).join(',')} ${route.path}`
  if (route.price === undefined && route.free !== true)
    problems.push({ place: at(), why: 'has neither a price nor free: true' })
  if (route.price !== undefined && route.free === true)
    problems.push({ place: at('free'), why: 'is true although the route has a price; leave one of them out' })
  if (route.websocket && !methods.has('GET'))
    problems.push({ place: at('websocket'), why: 'needs GET among the methods: a WebSocket begins with one' })
  if (problems.length > before || reading.kind === 'problem' || !upstream) return undefined
  const provider = route.free === true ? undefined : providerFor(data, route, name)
  if (provider) problems.push(...checkProvider(provider, route, at, environment))
  const { bind, price, size } = provider ?? {}
  return {
    path: route.path,
    name,
    pattern: reading.pattern,
    methods,
    provider,
    upstream,
    isWebSocket: route.websocket ?? false,
    readsBody:
      (typeof bind === 'object' && bind.body === true) || [price, size].some((one) => typeof one === 'function'),
  }
}

/** What is about the gateway and not about the paywall. */
const gatewayNames = new Set([
  ...['path', 'methods', 'price', 'free', 'websocket', 'partner', 'rewards', 'refundKey'],
  ...['upstream', 'headers', 'forward', 'preserveHost', 'timeouts', 'probe'],
  ...['listen', 'limits', 'owners', 'metrics', 'origins', 'sheets', 'faucetKey', 'webhooks', 'routes'],
])

function providerFor(data: ReadConfig, route: RouteRead, name: string): ProviderOptions {
  const options = (from: object) => Object.entries(from).filter(([key]) => !gatewayNames.has(key))
  const { price, free } = route
  const given = Object.fromEntries([...options(data), ...options(route)])
  // Checked by the paywall itself, whose word on options is final.
  const endpoint = parseEndpoint(name) && { endpoint: name }
  return {
    scope: scopeOf(name),
    ...endpoint,
    ...given,
    price,
    ...(free !== undefined && { free }),
  } as unknown as ProviderOptions
}

/** Names a route inside its requestIds, where at most 64 characters without spaces may stand. */
function scopeOf(name: string): string {
  const text = name.replace(' ', ':')
  return text.length <= 64
    ? text
    : `${text.slice(0, 40)}#${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

function checkProvider(
  provider: ProviderOptions,
  route: RouteRead,
  at: (...more: Place) => Place,
  environment: Environment,
): readonly Problem[] {
  return told(() => readConfig(provider, environment)).map(({ place, why }) => {
    const isOwn = place[0] !== undefined && place[0] in route
    return { place: isOwn ? at(...place) : place, why }
  })
}

/** What is told by who reads options, by place. */
function told(read: () => unknown): readonly Problem[] {
  try {
    read()
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map((text) => {
      const [, names = '', source = '', why = text] = /^([\w.]+)( \(\w+\))?: (.*)$/s.exec(text) ?? []
      const place = names.split('.').filter(Boolean)
      return { place, why: source === '' ? why : `(from${source.replace(/[()]/g, '')}) ${why}` }
    })
  }
}

const serviceNames = [
  ...['network', 'rpc', 'ledger', 'secret', 'service', 'watch', 'reportToken', 'mints', 'publicUrl', 'trustProxy'],
  ...['log', 'owners', 'metrics', 'origins', 'sheets', 'faucetKey', 'webhooks', 'rates', 'refundKey'],
]

function serviceOf(data: ReadConfig, routes: readonly RoutePlan[], environment: Environment): RoutesOptions {
  const given = Object.fromEntries(Object.entries(data).filter(([key]) => serviceNames.includes(key)))
  return data.rewards === undefined ? given : { ...given, rewards: readRewards(data, routes, environment) }
}

function readUpstream(
  data: ReadConfig,
  route: RouteRead,
  at: (...more: Place) => Place,
  problems: Problem[],
): UpstreamPlan | undefined {
  const address = route.upstream ?? data.upstream
  if (address === undefined) {
    problems.push({
      place: at('upstream'),
      why: 'is missing: where do its requests go? It may also stand at the top, for all',
    })
    return undefined
  }
  for (const [holder, place] of [
    [data.headers, ['headers']],
    [route.headers, at('headers')],
  ] as const) {
    for (const name of Object.keys(holder ?? {})) {
      const why = whyNoHeader(name)
      if (why !== undefined) problems.push({ place: [...place, name], why, isName: true })
    }
  }
  const url = new URL(address)
  const lower = (headers: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const basic = credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  const { connectSeconds = 10, answerSeconds = 60, idleSeconds = 300 } = { ...data.timeouts, ...route.timeouts }
  const probe = { ...data.probe, ...route.probe }
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/$/, ''),
    headers: { ...basic, ...lower(data.headers), ...lower(route.headers) },
    forward: (route.forward ?? data.forward ?? []).map((name) => name.toLowerCase()),
    preserveHost: route.preserveHost ?? data.preserveHost ?? false,
    connectMs: connectSeconds * 1000,
    answerMs: answerSeconds * 1000,
    idleMs: idleSeconds * 1000,
    probe: { path: probe.path, everyMs: (probe.seconds ?? 5) * 1000 },
  }
}

function whyNoHeader(name: string): string | undefined {
  if (!headerName.test(name)) return 'is not the name of a header'
  return isKeptHeader(name) ? 'is a header that the gateway writes itself' : undefined
}

/** What all routes share is wrong once. */
function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [`${nameRoute(problem.place)}: ${problem.why}`, problem])).values()]
}

function withoutUndefined(config: unknown): unknown {
  if (Array.isArray(config)) return config.map(withoutUndefined)
  if (typeof config !== 'object' || config === null || Object.getPrototypeOf(config) !== Object.prototype) return config
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => (value === undefined ? [] : [[key, withoutUndefined(value)]])),
  )
}
