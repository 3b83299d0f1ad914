/** What a gateway's configuration may say: SPEC.md's names at the top level, and the same names again in each route. */
import type { RoutesOptions } from '../../api/options.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'

/** Options of the paywall that a route may have to itself; left out, the top level's are used. */
export type RouteOptions = Pick<
  ProviderOptions,
  | 'token'
  | 'recipient'
  | 'acceptedMints'
  | 'per'
  | 'size'
  | 'prepay'
  | 'description'
  | 'scope'
  | 'bind'
  | 'bodyLimitBytes'
  | 'envelope'
  | 'proofBinding'
  | 'challengeTtlSeconds'
  | 'proofTtlSeconds'
  | 'allowanceTtlSeconds'
  | 'waitSeconds'
  | 'leaseSeconds'
  | 'finalizedFrom'
  | 'maxUnfinalized'
  | 'settlementToken'
  | 'autoConversion'
  | 'conversionThreshold'
  | 'conversionReserve'
  | 'settlementKey'
  | 'venue'
  | 'cors'
  | 'checkout'
  | 'retired'
>

/** Options that all routes share, because they share one ledger and one set of nodes. */
export type SharedOptions = Pick<
  ProviderOptions,
  | 'network'
  | 'rpc'
  | 'ledger'
  | 'secret'
  | 'mints'
  | 'accountKey'
  | 'rates'
  | 'service'
  | 'publicUrl'
  | 'trustProxy'
  | 'verifyOnChain'
  | 'watch'
  | 'reportToken'
  | 'onEvent'
  | 'log'
>

/** How requests reach the upstream, for one route or for all. */
export interface ForwardOptions {
  /** Where requests go: `http://127.0.0.1:3000`. A path in it is put before that of the request. */
  readonly upstream?: string
  /** Headers for the upstream, such as your key. Whatever the client says under these names is dropped. */
  readonly headers?: Readonly<Record<string, string>>
  /** Headers of the client that are kept from the upstream otherwise: `[cookie]`. */
  readonly forward?: readonly string[]
  /** True sends the client's Host header on, instead of the upstream's own name. */
  readonly preserveHost?: boolean
  readonly timeouts?: TimeoutOptions
  /**
   * How the gateway tells whether the upstream can deliver: a health path of the upstream, which must answer below 400, or
   * (left out) a connection. Every `seconds`, default 5.
   */
  readonly probe?: { readonly path?: string; readonly seconds?: number }
}

export interface TimeoutOptions {
  /** Until the upstream takes the connection. Default 10. */
  readonly connectSeconds?: number
  /** Until the upstream begins to answer. Default 60. */
  readonly answerSeconds?: number
  /** Between two parts of its answer; 0 waits for ever. Default 300. */
  readonly idleSeconds?: number
}

export interface GatewayRoute extends Partial<RouteOptions>, ForwardOptions {
  /** `/api/weather`, `/users/:id` (one segment) or `/files/*` (all below). */
  readonly path: string
  /** Default `[GET]`; HEAD comes with GET. */
  readonly methods?: readonly string[]
  /** Price of one unit of `per`: a number, decimal text, or (in TypeScript) a function of the request. */
  readonly price?: ProviderOptions['price']
  /** True: costs nothing. Or so many requests that cost nothing, beside a price. */
  readonly free?: true | NonNullable<ProviderOptions['free']>
  /** True takes WebSocket connections: the handshake is what is paid for. */
  readonly websocket?: boolean
  /** The name of a partner (`rewards.partners`) who is owed a share of what is paid here. */
  readonly partner?: string
}

export interface GatewayConfig extends SharedOptions, Partial<RouteOptions>, ForwardOptions {
  readonly listen?: { readonly host?: string; readonly port?: number }
  readonly routes: readonly GatewayRoute[]
  readonly limits?: LimitOptions
  /** Wallets that may read revenue when they have signed in. Default: the recipients. */
  readonly owners?: RoutesOptions['owners']
  readonly metrics?: RoutesOptions['metrics']
  readonly origins?: RoutesOptions['origins']
  readonly sheets?: RoutesOptions['sheets']
  /** On test networks: the key file that owns the test tokens, from which `/faucet` gives. `PAYSTILE_FAUCET_KEY` too. */
  readonly faucetKey?: RoutesOptions['faucetKey']
  readonly webhooks?: RoutesOptions['webhooks']
  /** Who is owed what of payments, and how that is paid. Collector and hosts follow from `recipient` and the upstreams. */
  readonly rewards?: RoutesOptions['rewards']
  readonly refundKey?: RoutesOptions['refundKey']
}

export interface LimitOptions {
  /** Open connections of clients. Default 10,000. */
  readonly connections?: number
  /** How long a client may take for the head of its request. Default 10. */
  readonly headSeconds?: number
  /** How long it may take for all of it, with its body. Default 30. */
  readonly requestSeconds?: number
}

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
