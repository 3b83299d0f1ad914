/**
 * A provider's options. Each option is declared here once: its schema, and its description as a doc comment.
 *
 * The types, the gateway's file, its JSON Schema and the tables in `docs/` follow from these shapes. In a comment,
 * `@defaultValue` and `@see` become the table's default and its link.
 */
import { z } from 'zod'
import { parseEndpoint } from '../../core/http/endpoint.ts'
import { envelopes } from '../../core/payment/envelope.ts'
import { usualProofTtlSeconds } from '../../core/protocol/proof.ts'
import type { Bind, BoundParts } from './binding.ts'
import { amountsOption, venueOption } from './conversion.ts'
import { maxUnfinalizedOption } from './finality.ts'
import {
  accountKey,
  address,
  callback,
  decimal,
  flag,
  headerName,
  label,
  list,
  type OptionsInput,
  seconds,
  token,
  wallet,
  wholeSeconds,
} from './kinds.ts'
import { freeOption, perOption, prepayOption, priceOption, reopenOption, sizeOption } from './pricing.ts'
import { type ServiceOptions, type SharedOptions, serviceShape, sharedShape } from './service-options.ts'
import { splitsOption } from './splits.ts'

/** The headers in which clients announce and prove a payment. */
function isPaymentHeader(name: string): boolean {
  return /^(?:x-payment$|payment-)/i.test(name)
}

const bind = z
  .union(
    [
      z.enum(['request', 'path']),
      z.strictObject({
        query: list(z.string(), 'must be a list of names').optional(),
        headers: list(
          headerName
            .refine(
              (name) => !isPaymentHeader(name),
              'carries the payment, so it differs on the paid request; remove it',
            )
            .transform((name) => name.toLowerCase()),
          'must be a list of names',
        ).optional(),
        body: flag.optional(),
      }),
    ],
    { error: "must be 'request', 'path' or { query: [names], headers: [names], body: true }" },
  )
  .transform(asBind)
const notEndpoint = "must be a path such as '/api/weather', or a method and a path such as 'GET /api/weather'"

/** Options that can differ for each route of a gateway. */
export const routeShape = {
  /**
   * The token of the price: `NATIVE`, `USDC`, `SOL`, or a code of `tokens`.
   *
   * @defaultValue `USDC`
   */
  token: token.optional(),
  /**
   * The wallet that receives the payments. Receiving needs no key. Well-known programs and mints are refused.
   *
   * @defaultValue `PAYSTILE_RECIPIENT`
   */
  recipient: wallet,
  /**
   * Further wallets that each payment pays directly, in the same transaction: `{ recipient, share }` with a percentage of the
   * price, or `{ recipient, amount }` in units of `token`. The rest goes to `recipient`. At most 8.
   *
   * @see [Split a payment](tasks/split-a-payment.md)
   */
  splits: splitsOption.optional(),
  /**
   * The accepted tokens, the preferred one first. `rates` convert the price into tokens other than `token`.
   *
   * @defaultValue `[token]`
   */
  acceptedMints: z
    .array(token, { error: 'must be a list of token codes' })
    .min(1, 'must name a token')
    .readonly()
    .optional(),
  /** The token in which you want to hold your revenue. */
  settlementToken: token.optional(),
  /**
   * Converts payments in other tokens into `settlementToken`, on chain. Needs `settlementKey`, or a worker with this
   * key.
   *
   * @defaultValue `false`
   * @see [Settlement](settlement.md)
   */
  autoConversion: flag.optional(),
  /**
   * The amount from which a token is converted, in units of that token: `{ SOL: 1 }`.
   *
   * @defaultValue the worth of 10 USDC
   */
  conversionThreshold: amountsOption.optional(),
  /**
   * The amount that stays in the wallet, in units of each token.
   *
   * @defaultValue `{ SOL: 0.05 }`, for fees
   */
  conversionReserve: amountsOption.optional(),
  /**
   * The recipient's own key, which signs conversions: the path of a key file, 64 secret bytes, a kit signer or a
   * wallet. A process that only receives does not need it.
   *
   * @defaultValue `PAYSTILE_SETTLEMENT_KEY` (a path)
   */
  settlementKey: accountKey.optional(),
  /**
   * The venue of conversions: `{ kind: 'jupiter' }`, or `{ kind: 'rfq', url }` for a desk.
   *
   * @defaultValue Jupiter on mainnet
   * @see [Desks](settlement.md#desks)
   */
  venue: venueOption.optional(),
  /**
   * The unit of the price: `'request'`, `'megabyte'` (1,000,000 bytes of body), a time window from the first use on
   * (`'minute'`, `'hour'`, `'day'` or `{ seconds }`), or a bundle `{ requests }`.
   *
   * @defaultValue `'request'`
   * @see [Prices](pricing.md)
   */
  per: perOption.optional(),
  /**
   * With `'megabyte'`: the length of the response in bytes, a number or a function of the request. The price is then known in
   * advance, and a broken download can continue.
   */
  size: sizeOption.optional(),
  /**
   * With `'megabyte'`, if the size is unknown: megabytes bought in advance.
   *
   * @defaultValue `1`
   */
  prepay: prepayOption.optional(),
  /** A description of the resource, shown in the challenge and on the checkout page. */
  description: z.string().max(200, 'must be at most 200 characters').optional(),
  /**
   * Names the route inside its requestIds. Bundles, windows and bytes are valid for all routes of that name; without a
   * name, for one path. Give each route its own name if two paywalls of different price share method and path (virtual
   * hosts, a tier by header): otherwise they accept each other's payments.
   */
  scope: label.optional(),
  /**
   * The parts of a request that a payment is bound to. `'request'`: method, path and query. `'path'`: method and path. Or a
   * list of parts: `{ query: [names], headers: [names], body: true }`.
   *
   * @defaultValue `'request'`
   * @see [A price that depends on the request](pricing.md#a-price-that-depends-on-the-request)
   */
  bind: bind.optional(),
  /**
   * The longest request body that the paywall reads, for `bind: { body: true }` and for forms.
   *
   * @defaultValue `1000000`
   */
  bodyLimitBytes: z
    .int({ error: 'must be a whole number of bytes' })
    .min(1, { error: 'must be at least 1' })
    .max(100_000_000, { error: 'must be at most 100000000' })
    .optional(),
  /**
   * `'verified'` or `'result'` wraps JSON responses: `{ "status": "verified", "message", "data" }` or
   * `{ "result": "success", "data" }`.
   *
   * @defaultValue `'none'`
   */
  envelope: z.enum(envelopes).optional(),
  /**
   * `'required'`: clients that announce no claim must sign their proof with the wallet. Other clients then cannot copy the proof
   * from the chain.
   *
   * @defaultValue `'negotiated'`
   */
  proofBinding: z.enum(['negotiated', 'required']).optional(),
  /**
   * The time in which a quote can be paid. At least 120.
   *
   * @defaultValue `300`
   */
  challengeTtlSeconds: wholeSeconds(120, 86_400).optional(),
  /**
   * The time in which a payment can be redeemed, after the end of its quote.
   *
   * @defaultValue `86400`
   */
  proofTtlSeconds: wholeSeconds(60, 30 * 86_400).optional(),
  /**
   * The time in which bundles, bytes and files can be used, after their first use.
   *
   * @defaultValue `2592000`
   */
  allowanceTtlSeconds: wholeSeconds(60, 10 * 365 * 86_400).optional(),
  /**
   * The longest wait of a proof for its transaction to become visible.
   *
   * @defaultValue `10`
   */
  waitSeconds: seconds(0, 60).optional(),
  /**
   * The time for which the ledger holds a payment for one response. The server renews it while the response runs. If the server
   * dies, the payment can be used again afterwards.
   *
   * @defaultValue `30`
   */
  leaseSeconds: seconds(0.1, 3600).optional(),
  /**
   * The price from which a payment must be finalized (about 13 s on mainnet) and not only confirmed (about 1 s), in units of
   * `token`; `0` for all. Until then the proof gets `tx_not_final`, and clients send it again. Without a rate to USDC, the default
   * is `0`.
   *
   * @defaultValue the worth of 1 USDC
   */
  finalizedFrom: decimal.optional(),
  /**
   * The highest sum of accepted payments that are not final yet, in units of `token`: a number for the recipient, or
   * `{ recipient, payer }`. Beyond it, payments must be finalized. Several servers may exceed it by the payments of one second.
   *
   * @defaultValue no limit
   */
  maxUnfinalized: maxUnfinalizedOption.optional(),
  /**
   * Lets pages of other origins pay and read the response. `false` leaves cross-origin headers and preflights to the application. Mount its CORS handler before the paywall, which charges for `OPTIONS` like any method. See [Preflights](gateway.md#preflights) for the gateway.
   *
   * @defaultValue `true`
   */
  cors: flag.optional(),
  /**
   * Shows the checkout page in browsers. `false` sends JSON to all clients.
   *
   * @defaultValue `true`
   * @see [Checkout](checkout.md)
   */
  checkout: flag.optional(),
  /**
   * Lets the browser that paid open the same address again for some minutes after the first time: `{ minutes: 10 }`. Programs
   * still buy one request.
   *
   * @see [Open a purchase again](checkout.md#open-a-purchase-again)
   */
  reopen: reopenOption.optional(),
  /**
   * Former values `{ recipients, scopes, binds }` whose payments can still be redeemed. Keep them for a day and six minutes.
   */
  retired: z
    .strictObject({
      recipients: list(address, 'must be a list').optional(),
      scopes: list(label, 'must be a list').optional(),
      binds: list(bind, 'must be a list').optional(),
    })
    .optional(),
}

/** Options that the gateway declares differently, or does not have. */
export const paywallShape = {
  /**
   * Price of one unit of `per`, in units of `token`: a number, decimal text, or a function of the request. A function sees
   * only the parts that the payment is bound to (`bind`). Zero, negative prices, and prices
   * with more decimals than the token has, are refused.
   *
   * @see [A price that depends on the request](pricing.md#a-price-that-depends-on-the-request)
   */
  price: priceOption,
  /** Free requests for each client address: `{ requests, per: 'minute' | 'hour' | 'day' | { seconds } }`. */
  free: freeOption.optional(),
  /** With `bind: { body: true }`, if a parser reads the body before the paywall: a function that returns the received bytes. */
  rawBody: callback<(request: object) => Uint8Array | undefined>().optional(),
  /**
   * The name in analytics and in the published list: `GET /api/weather`, or the path alone. Set it if paths carry data
   * (`/users/:id`).
   *
   * @defaultValue the path of each request
   */
  endpoint: z
    .string(notEndpoint)
    .transform((text, context) => {
      const endpoint = parseEndpoint(text)
      if (!endpoint) context.addIssue({ code: 'custom', message: notEndpoint, input: text })
      return endpoint ?? z.NEVER
    })
    .optional(),
}

export const providerSchema = z.strictObject({ ...paywallShape, ...routeShape, ...sharedShape, ...serviceShape })

/** Defaults for options that neither the options nor the environment set. */
export const usualOptions = Object.freeze({
  token: 'USDC',
  verifyOnChain: true,
  network: 'mainnet',
  autoConversion: false,
  service: 'default',
  bind: 'request',
  bodyLimitBytes: 1_000_000,
  proofBinding: 'negotiated',
  challengeTtlSeconds: 300,
  proofTtlSeconds: usualProofTtlSeconds,
  allowanceTtlSeconds: 30 * 86_400,
  waitSeconds: 10,
  leaseSeconds: 30,
  watch: true,
  trustProxy: 0,
  reportToken: 'USDC',
  envelope: 'none',
  cors: true,
  checkout: true,
} as const)

export type RouteOptions = OptionsInput<typeof routeShape>
type PaywallOptions = OptionsInput<typeof paywallShape>

/** The options of a paywall. `size` and `prepay` belong to `per: 'megabyte'`. */
export type ProviderOptions = PaywallOptions &
  Omit<RouteOptions, MeteredName | 'recipient'> &
  Partial<Pick<RouteOptions, 'recipient'>> &
  SharedOptions &
  ServiceOptions &
  (UnmeteredOptions | MeteredOptions)

type MeteredName = 'per' | 'size' | 'prepay'
type Metered = Pick<RouteOptions, MeteredName>
// Mapped types preserve the doc comments of the schema.
type UnmeteredOptions = {
  [Name in keyof Metered]: Name extends 'per' ? Exclude<Metered['per'], 'megabyte'> : undefined
}
type MeteredOptions = Pick<Metered, 'size' | 'prepay'> & { [Name in keyof Pick<Metered, 'per'>]-?: 'megabyte' }

/** Zod writes omitted parts as undefined. */
function asBind(bind: 'request' | 'path' | { [Part in keyof BoundParts]: BoundParts[Part] | undefined }): Bind {
  if (typeof bind === 'string') return bind
  return Object.freeze(Object.fromEntries(Object.entries(bind).filter(([, value]) => value !== undefined)))
}
