/**
 * What a provider may say. SPEC.md's names first, then ours; one flat object.
 */
import type { Network, TokenCode } from '../../core/money/tokens.ts'
import type { DoubtfulTrait } from '../../core/payment/token-rules.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { Log } from '../../core/runtime.ts'
import type { Bind } from './binding.ts'
import type { Envelope } from './envelope.ts'
import type { PaywallEvent } from './events.ts'
import type { PriceFunction, SizeFunction } from './pricing.ts'
import type { RatesOption } from './rates.ts'

export interface ProviderOptions {
  /**
   * Price of one unit of `per`, in units of `token`: a number, decimal text, or a function of the request. A function
   * sees only what the payment is bound to (`bind`).
   */
  readonly price: number | string | PriceFunction
  /** The token the price is in. */
  readonly token: TokenCode
  /** The wallet that is paid. Receiving needs no key. */
  readonly recipient?: string
  /** False skips reading the chain, on localnet and devnet only. Seal, expiry, binding and once-only stay. */
  readonly verifyOnChain?: boolean
  readonly network?: Network
  /** All tokens that are accepted, the preferred first; the price in others than `token` follows from `rates`. */
  readonly acceptedMints?: readonly TokenCode[]
  /**
   * What the price is for: one request, a megabyte (1,000,000 bytes of body), a time window from the first use on, or a
   * bundle of requests. Default `request`.
   */
  readonly per?: 'request' | 'megabyte' | { readonly seconds: number } | { readonly requests: number }
  /** With `per: 'megabyte'`: how many bytes a request brings, so that its price is known ahead. */
  readonly size?: number | SizeFunction
  /** With `per: 'megabyte'` where the size is not known: how many megabytes are bought ahead. Default 1. */
  readonly prepay?: number
  /** How long bundles, bytes and files can be used after they were first used. Default 30 days. */
  readonly allowanceTtlSeconds?: number
  /** Requests that cost nothing, by client address; each server counts for itself. */
  readonly free?: {
    readonly requests: number
    readonly per: 'minute' | 'hour' | 'day' | { readonly seconds: number }
  }
  /** The token you want to end up with. */
  readonly settlementToken?: TokenCode
  /** True converts what comes in other tokens into `settlementToken`, on chain. Needs `settlementKey`, or a worker that has it. */
  readonly autoConversion?: boolean
  /** From how much on a token is converted, in units of that token: `{ SOL: 1 }`. Default: the worth of 10 USDC. */
  readonly conversionThreshold?: Readonly<Partial<Record<TokenCode, number | string>>>
  /** What stays in the wallet, in units of each token. Default: 0.05 SOL, for fees. */
  readonly conversionReserve?: Readonly<Partial<Record<TokenCode, number | string>>>
  /**
   * The recipient's own key, which signs conversions: the path of a key file, 64 secret bytes, a kit signer or a wallet. A
   * process that only receives has none. `PAYSTILE_SETTLEMENT_KEY` too.
   */
  readonly settlementKey?: AccountKey
  /** Where tokens are exchanged: a desk (`rfq`), or Jupiter, which is the default on mainnet. */
  readonly venue?: VenueOption

  /** JSON-RPC nodes. With two or more, two must agree on a payment. On localnet, none starts a chain in this process. */
  readonly rpc?: string | readonly string[]
  /** Where payments are recorded: a file path, `sqlite:path`, `postgres://…`, or `memory:` on localnet. */
  readonly ledger?: string | Ledger
  /** The keyring that seals requestIds: `id:secret,id:secret`. */
  readonly secret?: string
  /** Mint addresses by token code: NATIVE on mainnet, any on devnet and localnet. */
  readonly mints?: Readonly<Partial<Record<Exclude<TokenCode, 'SOL'>, MintOption>>>
  /**
   * A key that pays, once, for each token account that the recipient lacks: the path of a key file, 64 secret bytes, a kit
   * signer or a wallet. It need not be the recipient's, and is used for nothing else.
   */
  readonly accountKey?: AccountKey
  /** What other tokens than the price's are worth: a table, `pyth`, `jupiter`, or a source of your own. */
  readonly rates?: RatesOption
  /** Names the service inside its requestIds, where several share one secret. */
  readonly service?: string
  /**
   * Names the route inside its requestIds. Routes with the same name share what was bought for several requests; without
   * a name it is good for the one path where it was bought.
   */
  readonly scope?: string
  /** The address clients use, when a proxy stands in front: `https://api.example.com`. */
  readonly publicUrl?: string
  /**
   * What a payment for one request is tied to, besides method and path: the whole query (`request`), nothing (`path`), or
   * the query parameters, headers and body that are listed.
   */
  readonly bind?: Bind
  /** The body as it was received, where a parser reads it before the paywall. Needed only with `bind: { body: true }`. */
  readonly rawBody?: (request: object) => Uint8Array | undefined
  /** The longest body with `bind: { body: true }`. Default 1,000,000. */
  readonly bodyLimitBytes?: number
  /** `required` refuses to sell to a client whose proof could be copied from the chain. */
  readonly proofBinding?: 'negotiated' | 'required'
  readonly challengeTtlSeconds?: number
  readonly proofTtlSeconds?: number
  /** How long a proof may wait for its transaction to become visible. */
  readonly waitSeconds?: number
  /** How long a delivery is held for a process that may have died. */
  readonly leaseSeconds?: number
  /**
   * The price from which a payment must be finalized before it is accepted, in units of `token`; 0 for all. By default
   * the worth of 1 USDC, and 0 for a token without a rate.
   */
  readonly finalizedFrom?: number | string
  /** The most that may be accepted and not finalized, in units of `token`, beyond which payments must be finalized. */
  readonly maxUnfinalized?: number | string | { readonly recipient?: number | string; readonly payer?: number | string }
  /** False does not read payments ahead of their proofs, nor those that never bring one. */
  readonly watch?: boolean
  /** How many proxies stand in front and add the client's address to `X-Forwarded-For`. */
  readonly trustProxy?: number
  /** What is sold, for the person who reads the challenge. */
  readonly description?: string
  /**
   * What analytics and the published list of what is sold call it: `GET /api/weather`, or the path alone. Default: the path
   * of each request.
   */
  readonly endpoint?: string
  /** The token in which revenue is reported. One for all that share a ledger. Default USDC. */
  readonly reportToken?: TokenCode
  /** Puts SPEC.md's access-granted shape around JSON answers. */
  readonly envelope?: Envelope
  /** False leaves cross-origin headers and preflights to the application. */
  readonly cors?: boolean
  /** False answers browsers as all others, with JSON, instead of the page on which people pay. */
  readonly checkout?: boolean
  /** Former recipients, scopes and bindings whose payments may still be claimed. */
  readonly retired?: {
    readonly recipients?: readonly string[]
    readonly scopes?: readonly string[]
    readonly binds?: readonly Bind[]
  }
  /** Hears what happens. What it throws is logged and breaks no sale. */
  readonly onEvent?: (event: PaywallEvent) => void
  readonly log?: Log
}

export type MintOption =
  | string
  | {
      readonly address: string
      readonly decimals?: number
      readonly tokenProgram?: string
      /** What the mint may have although it can cost you payments, or mislead about amounts. */
      readonly allow?: readonly DoubtfulTrait[]
    }

/** What a provider may say of the place where tokens are exchanged. */
export type VenueOption = VenueLimits &
  (
    | { readonly kind: 'rfq'; readonly url: string }
    | { readonly kind: 'jupiter'; readonly url?: string | undefined; readonly apiKey?: string | undefined }
  )

interface VenueLimits {
  /** How much less than quoted may come, in hundredths of a percent. Default 50. */
  readonly slippageBps?: number | undefined
  /** How much worse than the rate source a quote may be, in hundredths of a percent. Default 200. */
  readonly maxDeviationBps?: number | undefined
}

export type AccountKey =
  | string
  | ArrayLike<number>
  | { readonly address: string }
  | { readonly publicKey: { toBytes(): Uint8Array }; readonly secretKey: Uint8Array }
