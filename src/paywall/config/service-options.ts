/** The options that all routes of a service share, because they share one ledger and one set of nodes. */
import { z } from 'zod'
import { colourPattern } from '../../core/checkout/accent.ts'
import { isContact, isLogo, isSafeLink, isShownName } from '../../core/checkout/seller.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { networks } from '../../core/money/tokens.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import { mppCredentialHeaders } from '../../core/protocol/mpp.ts'
import type { Log } from '../../core/runtime.ts'
import type { PaywallEvent } from './events.ts'
import { accountKey, callback, flag, label, list, type OptionsInput, text, token, url } from './kinds.ts'
import { mintsOption, tokensOption } from './mints.ts'
import type { RatesOption } from './rates.ts'
import { sponsorOption } from './sponsor.ts'

/** The parts of `seller`. They are shown to people, so they are checked when the service starts. */
const sellerOption = z.strictObject(
  {
    name: text.refine(isShownName, 'must be 1 to 60 printable characters').optional(),
    logo: text
      .refine(isLogo, 'must be an https URL, or a data URL of a base64 image with at most 16000 characters')
      .optional(),
    colour: text.regex(colourPattern, 'must be a colour such as #4f3cc9').optional(),
    support: text.refine(isContact, 'must be an e-mail address or an https URL').optional(),
    terms: text.refine(isSafeLink, 'must be an https URL').optional(),
    returnUrl: text.refine(isSafeLink, 'must be an https URL').optional(),
  },
  { error: 'must be { name, logo, colour, support, terms, returnUrl }' },
)

/** Options that identify a service. Its paywalls and its API share them. */
export const serviceShape = {
  /**
   * The chain: `mainnet`, `devnet` or `localnet`.
   *
   * @defaultValue `PAYSTILE_NETWORK` or `mainnet`
   */
  network: z.enum(networks).optional(),
  /**
   * URLs of JSON-RPC nodes. With two or more, two must agree on every payment. On localnet, an empty list starts a chain in
   * this process; a URL connects to a running chain and pins its genesis hash at first contact.
   *
   * @defaultValue `PAYSTILE_RPC` (comma-separated); on devnet the public node
   */
  rpc: z
    .union([url, list(url, 'must be a list')], { error: 'must be the http or https URL of a node, or a list of them' })
    .optional(),
  /**
   * The ledger, which records payments: a path or `sqlite:path` for one machine,
   * `postgres://user:password@host/database` for any number of servers, or `memory:` on localnet. A ledger belongs to
   * its chain: on localnet, set it only together with `rpc`, because a chain inside the service ends with it. **All
   * processes that sell under one secret must use one ledger**: two machines with a file each would serve a payment
   * once each.
   *
   * @defaultValue `PAYSTILE_LEDGER`, or `.paystile/<network>.sqlite` in the working directory; on localnet beside the
   * chain's data
   * @see [Deployment](deploy.md)
   */
  ledger: z
    .custom<string | Ledger>(
      isLedger,
      'must be a file path, sqlite:<path>, a postgres: address, memory: or a ledger object',
    )
    .meta({ type: 'string' })
    .optional(),
  /**
   * The keyring that seals requestIds: `id:secret,id:secret`. Localnet creates one beside its data; other networks require it.
   *
   * @defaultValue `PAYSTILE_SECRET`
   * @see [Secrets](configuration.md#secrets)
   */
  secret: z.string().optional(),
  /**
   * Mints by token code: an address, or `{ address, decimals, tokenProgram, allow }`. `NATIVE` on mainnet, any token on
   * localnet and devnet. `allow` lists properties of the mint that are refused by default.
   *
   * @defaultValue known mints
   * @see [Token-2022](tokens.md#token-2022)
   */
  mints: mintsOption.optional(),
  /**
   * Other tokens by a code of your choice: `{ EURC: { mint, decimals, tokenProgram, allow } }`. The chain must confirm
   * decimals and token program before the token is offered. A ledger keeps the mint of each code for good.
   *
   * @see [Your own tokens](tokens.md#your-own-tokens)
   */
  tokens: tokensOption.optional(),
  /**
   * Rates of the other tokens: a table `{ SOL: '150.25', NATIVE: 0.1 }` in USDC (in quotes if a number has more than 15
   * digits), `'pyth'`, `'jupiter'`, or a source of your own. A token without a fresh rate is not offered.
   *
   * @defaultValue test rates on localnet and devnet
   * @see [Rates](rates.md)
   */
  rates: z.custom<RatesOption>().optional(),
  /**
   * Names the service inside its requestIds. Give each service its own name if several share a secret.
   *
   * @defaultValue `PAYSTILE_SERVICE` or `default`
   */
  service: label.optional(),
  /**
   * The address that clients use. Set it in production: without it, signed proofs and receipts name the Host that the client
   * sends.
   *
   * @defaultValue `PAYSTILE_PUBLIC_URL`, or the Host header
   */
  publicUrl: z.string().refine(isPublicUrl, { error: 'must be an http or https URL without query' }).optional(),
  /**
   * The seller as people see it on the pages: `{ name, logo, colour, support, terms, returnUrl }`, all optional.
   *
   * @defaultValue the host
   * @see [The seller](checkout.md#the-seller)
   */
  seller: sellerOption.optional(),
  /**
   * The number of your proxies that add the client's address to `X-Forwarded-For`. Invalid proofs are limited by
   * client address, and behind a proxy all clients look like one. Without `publicUrl`, their `X-Forwarded-Proto` decides
   * whether cookies of the checkout page are for https. Next, and Hono outside Node, do not report the peer's address: without
   * this option no client is limited there, and all share one slower queue of lookups.
   *
   * @defaultValue `0`
   */
  trustProxy: z
    .int({ error: 'must be the number of proxies in front of the service' })
    .min(0, { error: 'must be at least 0' })
    .max(16, { error: 'must be at most 16' })
    .optional(),
  /**
   * Reads payments to the recipient as they land, through the nodes' WebSocket and, as a fallback, by polling. Most proofs
   * then need no request to a node, and payments without a proof are recorded.
   *
   * @defaultValue `true`
   */
  watch: flag.optional(),
  /**
   * The token in which revenue is reported, at the rates in force at each payment's block time. All services on one ledger
   * share it, and the ledger remembers it; `npx paystile books rebuild --token` changes it.
   *
   * @defaultValue `USDC`
   */
  reportToken: token.optional(),
  /**
   * Receives log lines: `{ info, warn, error }`.
   *
   * @defaultValue JSON lines on stderr
   */
  log: z
    .custom<Log>((value) => typeof value === 'object' && value !== null, 'must be { info, warn, error }')
    .optional(),
}

/** Options of paywalls that all routes of a gateway share. */
export const sharedShape = {
  /**
   * `false` accepts payments without reading the chain, on localnet and devnet only. Seal, expiry, binding and single
   * use are still checked.
   *
   * @defaultValue `true`
   */
  verifyOnChain: flag.optional(),
  /**
   * The key that pays for the creation of token accounts that the recipient lacks: the path of a key file, 64 secret bytes, a kit
   * signer or a wallet. It has no other use, and can belong to any wallet.
   *
   * @defaultValue `PAYSTILE_ACCOUNT_KEY` (a path)
   * @see [Token accounts](tokens.md#token-accounts)
   */
  accountKey: accountKey.optional(),
  /**
   * Pays the network fees of x402 and MPP clients: `{ key, perDay, lostPerDay, floor, minMargin }`, with amounts of SOL. `key`
   * belongs to a wallet that holds only SOL and is used for nothing else. On localnet, `true` creates and funds one.
   *
   * @defaultValue `PAYSTILE_SPONSOR_KEY` (a path); without a key, x402 is not offered
   * @see [x402 and MPP](x402-and-mpp.md)
   */
  sponsor: sponsorOption.optional(),
  /**
   * Accepts x402, with `sponsor`. `{ v1: true }` also accepts version 1, whose payments name no challenge: the request is
   * priced when its payment arrives.
   *
   * @defaultValue `true` with `sponsor`
   * @see [x402 and MPP](x402-and-mpp.md#x402)
   */
  x402: z.union([flag, z.strictObject({ v1: flag.optional() })], { error: 'must be true, false or { v1 }' }).optional(),
  /**
   * Accepts MPP. `{ push: true }` also accepts transactions that the client has sent itself; any reader of the chain can
   * copy such a proof. `{ header: 'Payment-Authorization' }` asks for credentials in that header, for clients that also send
   * another `Authorization`. Without `sponsor`, the payer pays the network fee.
   *
   * @defaultValue `true` with `sponsor`
   * @see [x402 and MPP](x402-and-mpp.md)
   */
  mpp: z
    .union([flag, z.strictObject({ push: flag.optional(), header: z.enum(mppCredentialHeaders).optional() })], {
      error: 'must be true, false or { push, header }',
    })
    .optional(),
  /**
   * Called for every challenge, refusal, verified payment and ended delivery, and for changes of payments on chain. Its
   * exceptions are logged and do not affect requests.
   *
   * @see [Events](api.md#events-of-onevent)
   */
  onEvent: callback<(event: PaywallEvent) => void>().optional(),
}

export type ServiceOptions = OptionsInput<typeof serviceShape>
export type SharedOptions = OptionsInput<typeof sharedShape>

function isLedger(value: unknown): boolean {
  if (typeof value === 'string') return parseLedgerUrl(value) !== undefined
  return typeof value === 'object' && value !== null && 'take' in value
}

function isPublicUrl(text: string): boolean {
  if (!isHttpUrl(text)) return false
  const parts = new URL(text)
  return parts.search === '' && parts.hash === '' && parts.username === ''
}
