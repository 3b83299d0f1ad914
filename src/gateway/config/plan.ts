/** Converts a configuration into a plan: every route with its paywall's options and its upstream, or all problems. */
import { createHash } from 'node:crypto'
import { type RoutesOptions, readRoutesConfig } from '../../api/options.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { parseEndpoint } from '../../core/http/endpoint.ts'
import { splitPath } from '../../core/http/plain-path.ts'
import { bindsBody } from '../../paywall/config/binding.ts'
import type { Config, Environment, ParsedOptions } from '../../paywall/config/config.ts'
import { completeConfig, fromEnvironment, withEnvironment } from '../../paywall/config/config.ts'
import { headerName } from '../../paywall/config/kinds.ts'
import type { Pricing } from '../../paywall/config/pricing.ts'
import { explainMissing, type OptionProblem, type Place, parseOptions } from '../../paywall/config/problems.ts'
import { isKeptHeader } from '../headers.ts'
import { matches, parsePattern } from '../routing/match.ts'
import { formatPlace } from './place.ts'
import { checkPartners, completeRewards } from './rewards.ts'
import { checkTable } from './route-conflicts.ts'
import { apiNames, configSchema, type GatewayConfig, type ParsedConfig, paywallNames } from './schema.ts'

export type PlanReading =
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'problems'; readonly problems: readonly OptionProblem[] }

export function readPlan(config: unknown, environment: Environment): PlanReading {
  const whole = withoutUndefined(config)
  const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole)
  const { given, variables } = withEnvironment(isObject ? whole : {}, environment, Object.keys(fromEnvironment))
  /** Reports a wrong value at the place where it was written. */
  const locate = (problem: OptionProblem): OptionProblem => {
    const variable = variables.get(String(problem.place[0]))
    return variable === undefined ? problem : { ...problem, variable, why: `(from ${variable}) ${problem.why}` }
  }
  const reading = parseOptions(configSchema, isObject ? given : whole, 'file')
  if (reading.kind === 'problems') return { kind: 'problems', problems: reading.problems.map(locate) }
  const data = reading.options
  const problems: RouteProblem[] = []
  if (data.routes.length === 0 && !data.facilitator) problems.push({ place: ['routes'], why: 'must have a route' })
  const routes = data.routes.flatMap((route, index) => readRoute(data, route, index, problems) ?? [])
  if (routes.length === data.routes.length) problems.push(...checkTable(routes))
  problems.push(...checkPartners(data))
  const service = readService(data, routes)
  problems.push(...checkFrontPage(data, routes))
  // The paywalls report problems of the shared options.
  if (problems.length === 0 && needsApi(routes, service)) problems.push(...checkApi(service, environment))
  if (problems.length > 0) return { kind: 'problems', problems: mergeShared(problems, data.routes).map(locate) }
  return { kind: 'plan', plan: completePlan(data, routes, service) }
}

/** A service without prices needs no API, unless it settles payments for other servers. */
function needsApi(routes: readonly RoutePlan[], { facilitator }: RoutesOptions): boolean {
  return facilitator !== undefined || routes.some((route) => route.config)
}

export type Plan = Readonly<ReturnType<typeof completePlan>>

function completePlan(data: ParsedConfig, routes: readonly RoutePlan[], service: RoutesOptions) {
  const { listen, limits, reportToken } = data
  return {
    host: listen?.host ?? '127.0.0.1',
    port: listen?.port ?? 8402,
    routes,
    connections: limits?.connections ?? 10_000,
    headMs: (limits?.headSeconds ?? 10) * 1000,
    requestMs: (limits?.requestSeconds ?? 30) * 1000,
    trustProxy: data.trustProxy ?? 0,
    seller: data.seller,
    /** Whether errors are pages for people. */
    hasPages: data.checkout ?? true,
    publicUrl: data.publicUrl?.replace(/\/$/, ''),
    /** Options for the service's own endpoints. */
    service,
    hasApi: needsApi(routes, service),
    reportToken,
    webhooks: data.webhooks ?? [],
    /** Whether owners may edit the prices in the file. */
    isEditable: data.edit ?? false,
    /** Names the text of the YAML file. Undefined for other sources. */
    version: undefined as string | undefined,
  }
}

/** Creates the plan of a configuration. Throws a `ConfigurationError` with all problems. */
export function createPlan(config: GatewayConfig, environment: Environment): Plan {
  const reading = readPlan(config, environment)
  if (reading.kind === 'plan') return reading.plan
  throw new ConfigurationError(reading.problems.map(({ place, why }) => `${formatPlace(place)}: ${why}`))
}

type ParsedRoute = ParsedConfig['routes'][number]

/** The route is the name of the one that a shared option does not suit. */
type RouteProblem = OptionProblem & { readonly route?: string }

function readRoute(data: ParsedConfig, route: ParsedRoute, index: number, problems: RouteProblem[]) {
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
    problems.push({ place: at('free'), why: 'is true although the route has a price; remove one of the two' })
  if (route.websocket && !methods.has('GET'))
    problems.push({ place: at('websocket'), why: 'needs GET among the methods, because a WebSocket starts with GET' })
  if (problems.length > before || reading.kind === 'problem' || !upstream) return undefined
  const config = route.free === true ? undefined : readPaywall(data, route, name, at, problems)
  const { bind, pricing } = config?.route ?? {}
  return {
    ...{ path: route.path, pattern: reading.pattern, methods: methods as ReadonlySet<string>, upstream },
    /** `GET /api/weather`. */
    name,
    /** The configuration of its paywall. Undefined for a free route. */
    config,
    isWebSocket: route.websocket ?? false,
    /** Whether the paywall may need the body to compute the price. */
    readsBody: (bind !== undefined && bindsBody(bind)) || (pricing !== undefined && usesFunction(pricing)),
  }
}

export type RoutePlan = Readonly<NonNullable<ReturnType<typeof readRoute>>>

function usesFunction({ price, per }: Pricing): boolean {
  return typeof price === 'function' || (per.kind === 'bytes' && typeof per.size === 'function')
}

function readPaywall(
  data: ParsedConfig,
  route: ParsedRoute,
  name: string,
  at: (...more: Place) => Place,
  problems: RouteProblem[],
): Config | undefined {
  const { price, free } = route
  const options = (from: object) => Object.entries(from).filter(([key]) => paywallNames.has(key))
  const given: Partial<ParsedOptions> = Object.fromEntries([...options(data), ...options(route)])
  if (given.recipient === undefined) {
    problems.push({ place: ['recipient'], why: explainMissing(['recipient']) })
    return undefined
  }
  const endpoint = parseEndpoint(name)
  const named = { scope: nameScope(name), ...(endpoint && { endpoint }), ...given, price, free }
  const reading = completeConfig(named as ParsedOptions)
  if (reading.kind === 'config') return reading.config
  problems.push(
    ...reading.problems.map(splitProblem).map(({ place, why }) => {
      const isOwn = place[0] !== undefined && place[0] in route
      return isOwn ? { place: at(...place), why } : { place, why, route: name }
    }),
  )
  return undefined
}

/** The scope of a route inside its requestIds: at most 64 characters without spaces. */
function nameScope(name: string): string {
  const text = name.replace(' ', ':')
  return text.length <= 64
    ? text
    : `${text.slice(0, 40)}#${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

function checkApi(service: RoutesOptions, environment: Environment): readonly OptionProblem[] {
  try {
    readRoutesConfig(service, environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map(splitProblem)
  }
}

/** Converts `rates.SOL: must be …` to a problem with its place. */
function splitProblem(problem: string): OptionProblem {
  const [, names = '', why = problem] = /^([\w.]+): (.*)$/s.exec(problem) ?? []
  const place = names.split('.').filter(Boolean)
  return { place: place.map((part) => (/^\d+$/.test(part) ? Number(part) : part)), why }
}

function readService(data: ParsedConfig, routes: readonly RoutePlan[]): RoutesOptions {
  const frontPage = data.frontPage ?? (findCover(routes, usualFrontPage) === undefined && usualFrontPage)
  const options = Object.entries(data).filter(([key]) => apiNames.has(key))
  const given = { ...Object.fromEntries(options), frontPage }
  const { rewards } = data
  return rewards === undefined ? given : { ...given, rewards: completeRewards(rewards, data, routes) }
}

const usualFrontPage = '/'

/** A front page that a route would hide. The usual one is left out instead. */
function checkFrontPage({ frontPage }: ParsedConfig, routes: readonly RoutePlan[]): readonly OptionProblem[] {
  const cover = frontPage ? findCover(routes, frontPage) : undefined
  if (cover === undefined) return []
  return [{ place: ['frontPage'], why: `is hidden by the route ${cover}; choose another path, or false` }]
}

/** The name of the route that gets GET requests for a path. */
function findCover(routes: readonly RoutePlan[], path: string): string | undefined {
  const segments = splitPath(path)
  return routes.find(({ methods, pattern }) => methods.has('GET') && segments && matches(pattern, segments))?.name
}

function readUpstream(
  data: ParsedConfig,
  route: ParsedRoute,
  at: (...more: Place) => Place,
  problems: OptionProblem[],
) {
  const address = route.upstream ?? data.upstream
  if (address === undefined) {
    problems.push({ place: at('upstream'), why: 'is missing; set it here, or at the top for all routes' })
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
  const credentials = attempt(() => `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)
  if (credentials === undefined) {
    const place = route.upstream === undefined ? ['upstream'] : at('upstream')
    problems.push({ place, why: 'has a user name or password with a single %; write %25 for it' })
    return undefined
  }
  const basic = credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  const { connectSeconds = 10, answerSeconds = 60, idleSeconds = 300 } = { ...data.timeouts, ...route.timeouts }
  const probe = { ...data.probe, ...route.probe }
  return {
    /** `http://127.0.0.1:3000`. */
    origin: url.origin,
    /** The prefix of every request path: '' or `/v1`. */
    prefix: url.pathname.replace(/\/$/, ''),
    /** Headers that the gateway sets, in lower case. They replace the client's. */
    headers: { ...basic, ...lower(data.headers), ...lower(route.headers) },
    /** Headers that are forwarded although they are dropped by default, in lower case. */
    forward: (route.forward ?? data.forward ?? []).map((name) => name.toLowerCase()),
    preserveHost: route.preserveHost ?? data.preserveHost ?? false,
    connectMs: connectSeconds * 1000,
    answerMs: answerSeconds * 1000,
    idleMs: idleSeconds * 1000,
    /** The health check of the upstream: this path or, if undefined, a connection. */
    probe: { path: probe.path, everyMs: (probe.seconds ?? 5) * 1000 },
  }
}

export type UpstreamPlan = Readonly<NonNullable<ReturnType<typeof readUpstream>>>

function whyNoHeader(name: string): string | undefined {
  if (!headerName.safeParse(name).success) return 'is not a header name'
  return isKeptHeader(name) ? 'is a header that the gateway sets itself' : undefined
}

/** Reports a problem of a shared option once, with the routes that it does not suit if it suits others. */
function mergeShared(problems: readonly RouteProblem[], routes: readonly ParsedRoute[]): readonly OptionProblem[] {
  const paid = routes.filter(({ free }) => free !== true).length
  const name = ({ place, why }: OptionProblem) => `${formatPlace(place)}: ${why}`
  return [...new Map(problems.map((problem) => [name(problem), problem])).values()].map(({ route, ...problem }) => {
    if (route === undefined) return problem
    const unsuited = problems.filter((one) => name(one) === name(problem)).flatMap((one) => one.route ?? [])
    if (unsuited.length === paid) return problem
    return { ...problem, why: `${problem.why} (${unsuited.length > 1 ? 'routes' : 'route'} ${unsuited.join(', ')})` }
  })
}

function withoutUndefined(config: unknown): unknown {
  if (Array.isArray(config)) return config.map(withoutUndefined)
  if (typeof config !== 'object' || config === null || Object.getPrototypeOf(config) !== Object.prototype) return config
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => (value === undefined ? [] : [[key, withoutUndefined(value)]])),
  )
}
