/**
 * The schema of a gateway's configuration. Its types and the JSON Schema for editors are made from it.
 *
 * It combines the schemas of the paywall and of the API, so an option has one declaration and one set of rules.
 */
import { z } from 'zod'
import { apiShape, type RoutesOptions, routesOptionNames } from '../../api/options.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { flag, headerName, list, number, type OptionsInput, text } from '../../paywall/config/kinds.ts'
import { paywallShape, type RouteOptions, routeShape } from '../../paywall/config/options.ts'
import { type SharedOptions, serviceShape, sharedShape } from '../../paywall/config/service-options.ts'

const whole = (least: number, most: number) =>
  number
    .refine(Number.isInteger, { error: 'must be a whole number' })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
const secondsFrom = (least: number) =>
  number.min(least, { error: `must be at least ${least}` }).max(86_400, { error: 'must be at most 86400' })

/** How requests reach the upstream, for one route or for all. */
const forwardShape = {
  /**
   * The API behind the gateway: `http://127.0.0.1:3000`. A path in this address is put before the path of the request.
   *
   * @defaultValue the top level's
   */
  upstream: text
    .refine((url) => isHttpUrl(url), { error: 'must be an http or https address such as http://127.0.0.1:3000' })
    .refine((url) => !isHttpUrl(url) || !/[?#]/.test(url), { error: 'must not have a query' })
    .optional(),
  /**
   * Headers for the upstream, such as your API key, besides those of the top level. A client's header of the same name is
   * dropped.
   *
   * @defaultValue none
   */
  headers: z
    .record(z.string(), text.regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: 'must be one line of text' }), {
      error: 'must be an object of names and values',
    })
    .optional(),
  /**
   * Names of further client headers that are forwarded to the upstream: `[cookie]`.
   *
   * @defaultValue none
   * @see [Headers for the upstream](gateway.md#headers-for-the-upstream)
   */
  forward: list(headerName, 'must be a list of header names').optional(),
  /**
   * Forwards the client's Host header instead of the upstream's own host name.
   *
   * @defaultValue `false`
   */
  preserveHost: flag.optional(),
  /**
   * How the gateway checks that the upstream can deliver. `path` is a health path of the upstream that must respond
   * with a status below 400; without it, a connection is enough.
   *
   * @defaultValue `{ seconds: 5 }`
   * @see [Upstreams that are down](gateway.md#upstreams-that-are-down)
   */
  probe: z
    .strictObject({
      path: text.regex(/^\/[!-~]*$/, { error: 'must be a path such as /healthz' }).optional(),
      seconds: secondsFrom(0.01).optional(),
    })
    .optional(),
  /**
   * The longest wait for a connection to the upstream, for the start of its response, and between two parts of the response
   * (0: no limit).
   *
   * @defaultValue `{ connectSeconds: 10, answerSeconds: 60, idleSeconds: 300 }`
   */
  timeouts: z
    .strictObject({
      connectSeconds: secondsFrom(0.1).optional(),
      answerSeconds: secondsFrom(0.1).optional(),
      idleSeconds: secondsFrom(0).optional(),
    })
    .optional(),
}

export const methodNames = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Options of a route only. */
const ownShape = {
  /** The path: `/api/weather`; `/users/:id`, where `:id` is one segment of any value; `/files/*`, all paths below `/files/`. */
  path: text,
  /**
   * The methods of the route. GET includes HEAD.
   *
   * @defaultValue `[GET]`
   */
  methods: z
    .array(z.enum(methodNames), { error: 'must be a list of methods' })
    .min(1, 'must name a method')
    .readonly()
    .optional(),
  /** Price of one unit of `per`: a number, decimal text, or (in TypeScript) a function. Every route has a price or `free: true`. */
  price: paywallShape.price.optional(),
  /** `true`: free of charge. `{ requests, per }` in addition to a price: free requests for each client address. */
  free: z
    .union([z.literal(true), paywallShape.free.unwrap()], { error: 'must be true, or { requests, per }' })
    .optional(),
  /**
   * Accepts WebSocket connections: the handshake is the paid request.
   *
   * @defaultValue `false`
   * @see [WebSockets](gateway.md#websockets)
   */
  websocket: flag.optional(),
  /**
   * The name of a partner (`rewards.partners`) that gets a share of the payments.
   *
   * @see [Rewards](rewards.md)
   */
  partner: text.optional(),
}

/** The recipient can be set at the top level, in a route, or in the environment. */
const paywallOptions = { ...routeShape, recipient: routeShape.recipient.optional() }

export const routeSchema = z.strictObject({ ...ownShape, ...paywallOptions, ...forwardShape })

/** A port from the environment is text. */
const port = z.union(
  [
    whole(0, 65_535),
    text
      .regex(/^\d{1,5}$/)
      .transform(Number)
      .pipe(whole(0, 65_535)),
  ],
  { error: 'must be a number from 0 to 65535' },
)

/** Options of the top level only. */
const topShape = {
  /**
   * The address on which the gateway listens.
   *
   * @defaultValue `{ host: 127.0.0.1, port: 8402 }`
   */
  listen: z.strictObject({ host: text.min(1, 'must name a host').optional(), port: port.optional() }).optional(),
  /**
   * The most open connections, and the seconds within which a client must send the headers of a request and the whole request
   * with its body.
   *
   * @defaultValue `{ connections: 10000, headSeconds: 10, requestSeconds: 30 }`
   */
  limits: z
    .strictObject({
      connections: whole(1, 1_000_000).optional(),
      headSeconds: secondsFrom(1).optional(),
      requestSeconds: secondsFrom(1).optional(),
    })
    .optional(),
  /**
   * Owners who are signed in may edit the prices in this file, on the dashboard's screen Service. Only for YAML files.
   *
   * @defaultValue `false`
   * @see [Edit prices in the dashboard](gateway.md#edit-prices-in-the-dashboard)
   */
  edit: flag.optional(),
}

/** Collector and hosts of rewards are derived from `recipient` and the upstreams. */
export const configSchema = z.strictObject({
  ...serviceShape,
  ...sharedShape,
  ...paywallOptions,
  ...forwardShape,
  ...apiShape,
  ...topShape,
  routes: z.array(routeSchema, { error: 'must be a list of routes, each with a dash: - path: /report' }).readonly(),
})
export type ParsedConfig = z.output<typeof configSchema>

/** The paywall options in a configuration. Those of a route override those of the top level. */
export const paywallNames: ReadonlySet<string> = new Set(
  Object.keys({ ...serviceShape, ...sharedShape, ...routeShape }),
)
/** The API options in a configuration. */
export const apiNames: ReadonlySet<string> = new Set(routesOptionNames)

type ForwardOptions = OptionsInput<typeof forwardShape>
export type GatewayRoute = OptionsInput<typeof ownShape> & Partial<RouteOptions> & ForwardOptions
export type GatewayConfig = RoutesOptions &
  SharedOptions &
  Partial<RouteOptions> &
  ForwardOptions &
  OptionsInput<typeof topShape> & { readonly routes: readonly GatewayRoute[] }

/**
 * Gives a configuration in TypeScript its types.
 *
 * @example
 * export const config = defineGateway({
 *   network: 'localnet',
 *   recipient,
 *   token: 'USDC',
 *   upstream: 'http://127.0.0.1:3000',
 *   routes: [{ path: '/api/report', price: 0.01 }],
 * })
 */
export function defineGateway(config: GatewayConfig): GatewayConfig {
  return config
}

/** For editors: `# yaml-language-server: $schema=…`. It omits functions and objects of a program. */
export function jsonSchema(): object {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema: part }) => {
      delete part.readOnly
      const choices = part.anyOf?.filter((choice) => Object.keys(choice).length > 0)
      if (choices) part.anyOf = choices
    },
  })
}
