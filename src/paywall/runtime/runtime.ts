/**
 * One service: the keys, ledger and nodes that its routes share, and the list of routes and recipients by which an old
 * requestId is recognised.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import type { Hmac } from '../../core/encoding/hmac.ts'
import { equalBytes, prepareHmac } from '../../core/encoding/hmac.ts'
import type { Meter } from '../../core/encoding/metrics.ts'
import type { JournaledRates, RateTable } from '../../core/money/rates.ts'
import type { Mint, MintTable, TokenCode } from '../../core/money/tokens.ts'
import type { Inspection } from '../../core/payment/token-rules.ts'
import type { Asset } from '../../core/payment/verify.ts'
import type { OutgoingWallet, OutgoingWalletLimits } from '../../core/payouts/outgoing-wallet.ts'
import type { Sealer } from '../../core/payouts/ports/outgoing.ts'
import type { Venue } from '../../core/payouts/venue.ts'
import type { Chain, Opening } from '../../core/ports/chain.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { PaymentDrafts } from '../../core/ports/payment-drafts.ts'
import type { Keyring } from '../../core/protocol/keyring.ts'
import type { Pseudonyms } from '../../core/protocol/pseudonyms.ts'
import { createPseudonyms } from '../../core/protocol/pseudonyms.ts'
import type { Encode, OpenedRequest } from '../../core/protocol/request-id.ts'
import { isAuthentic, sealContext } from '../../core/protocol/request-id.ts'
import type { Tags } from '../../core/protocol/tags.ts'
import { createTags } from '../../core/protocol/tags.ts'
import type { Clock, ClockCheck, Identity, Log, Trace, Verifier } from '../../core/runtime.ts'
import type { ServiceConfig } from '../config/config.ts'
import type { VenueConfig } from '../config/conversion.ts'
import type { PaywallEvent } from '../config/events.ts'
import type { AccountKey } from '../config/kinds.ts'
import type { RatesConfig } from '../config/rates.ts'
import type { Catalog } from './catalog.ts'
import { createCatalog } from './catalog.ts'
import type { Changes } from './changes.ts'
import { createChanges } from './changes.ts'
import type { Deadlines } from './deadlines.ts'
import { createDeadlines } from './deadlines.ts'
import type { FaucetOptions, FaucetSource } from './faucet-source.ts'
import { createPayDesks, type PayDesks } from './pay-desk.ts'
import type { PendingPayments } from './pending-payments.ts'
import type { RateLimit } from './rate-limit.ts'
import type { RouteWarnings } from './route-warnings.ts'
import { createRouteWarnings } from './route-warnings.ts'
import type { TestPayer } from './test-payer.ts'
import type { UnfinalizedPayments } from './unfinalized.ts'
import type { UsageCounters } from './usage-counters.ts'

/** The page's script and style sheet. */
export interface CheckoutFiles {
  readonly script: string
  readonly style: string
}

/** What `assemble` brings together. */
export interface RuntimeParts {
  readonly chain: Chain
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly verifier: Verifier
  /** Signs receipts. */
  readonly identity: Identity
  readonly genesis: string
  /** Makes a recipient able to receive, where test money is free. Resolves when it is, or cannot be made so. */
  readonly welcome: (recipient: string) => Promise<void>
  readonly tokenAccountOf: TokenAccountOf
  /** Helps people to pay with wallets of their own. */
  readonly paymentDrafts: PaymentDrafts
  /** What the checkout page is made of, besides what the server writes; empty where it was not built. */
  readonly checkoutFiles: CheckoutFiles
  /** What nodes say of a recipient and of what it is to be paid in. */
  readonly inspect: (question: { readonly recipient: string; readonly mints: MintTable }) => Promise<Inspection>
  /** Opens the recipient's account for a mint at the cost of a key. */
  readonly openAccount: (order: {
    readonly recipient: string
    readonly mint: Mint
    readonly key: AccountKey
  }) => Promise<Opening>
  /** Sends money out from the wallet of a key. */
  readonly openOutgoingWallet: (key: AccountKey, limits: OutgoingWalletLimits) => Promise<OutgoingWallet>
  /** Where the wallet of a key exchanges tokens. */
  readonly openVenue: (key: AccountKey, venue: VenueConfig) => Promise<Venue>
  /** Keeps signed bytes for nobody else to read. */
  readonly sealer: Sealer
  /** What tokens are worth, by a source that routes with the same settings share. */
  readonly openRates: (config: RatesConfig, mints: MintTable, use?: RatesUse) => Rates
  /** On a local chain, somebody who pays to try things out. */
  readonly testPayer: TestPayer | undefined
  /** Test money, on test networks. Throws a `ConfigurationError` for a key that cannot be used. */
  readonly openFaucetSource: (options: FaucetOptions) => FaucetSource | undefined
  /** base64url as fast as the platform has it: every 402 passes through. */
  readonly encode: Encode
  readonly log: Log
  readonly trace: Trace
  readonly meter: Meter
  /** Nothing is sold while the clock is wrong. */
  readonly clockCheck: ClockCheck
  readonly budget: RateLimit
  readonly exposure: UnfinalizedPayments
  readonly usage: UsageCounters
  /** Payments that genuine proofs name and nobody can verify yet. */
  readonly pending: PendingPayments
}

/** What rates are for: those of prices value payments, and those of rewards what payments froze no rate of NATIVE. */
export type RatesUse = 'prices' | 'rewards'

/** What tokens are worth. All but `find` asks nobody. */
export interface Rates {
  /** The same object as long as it says the same. */
  current(): RateTable
  /** Why a token has no rate that is believed, in one sentence. */
  why(token: TokenCode): string | undefined
  /** Resolves when its source was asked once, whatever came of it. */
  ready(): Promise<void>
  /** What is added where somebody pays in another token than the price's. */
  readonly spread: number
  /** From now on the ledger keeps what they were. Called where something is valued by them later. */
  keep(): void
  /** The rates by which a payment at a time is valued, as `RateJournal` has it. */
  find(time: number, tokens: readonly TokenCode[]): Promise<JournaledRates>
}

export type Recognition =
  | { readonly kind: 'sealed'; readonly recipient: string }
  | { readonly kind: 'forged' }
  /** Sealed, if at all, with a key that was retired. Only the ledger can say. */
  | { readonly kind: 'unknown_key' }

/** What is known of a route by its tag alone. */
export interface RouteFacts {
  /** What is sold there; empty where that is not one thing. */
  readonly endpoint: string
  readonly proofTtlSeconds: number
}

export interface WatchedAccount {
  readonly recipient: string
  readonly token: TokenCode
  readonly decimals: number
  readonly asset: Asset
}

export interface Runtime extends RuntimeParts {
  readonly config: ServiceConfig
  readonly pseudonyms: Pseudonyms
  readonly tags: Tags
  /** Makes a route's scopes and recipients known, so that requestIds of one route are told apart at another. */
  register(scopes: readonly string[], recipients: readonly string[], about: RouteFacts): void
  /** The second in which a quote is made now. */
  quoteSecond(): number
  /** Every quote from now on is made after that second: a second tells then which quotes came before. */
  quoteAfter(second: number): void
  sealWith(recipient: string): Hmac
  recognise(request: OpenedRequest): Recognition
  /** The route of a requestId; undefined when none of this service's is. */
  findRoute(tag: Uint8Array): RouteFacts | undefined
  /** Accounts that are watched, with whose they are and what comes to them. */
  readonly watched: Map<string, WatchedAccount>
  /** Where people pay for what a route sells. */
  readonly payDesks: PayDesks
  /** Where the service's own addresses are, if they are in this process and known from outside. */
  publicUrl: string | undefined
  /** Those who hear what happens on chain: each once, on however many routes. The function returned ends it. */
  listen(listener: (event: PaywallEvent) => unknown): () => void
  emit(event: PaywallEvent): void
  /** What is sold. */
  readonly catalog: Catalog
  readonly warnings: RouteWarnings
  /** Payments about which something has changed, for the stream. */
  readonly changes: Changes
  /** Ends of windows, for the responses that run in them. */
  readonly deadlines: Deadlines
  /** Counts a proof that opened something. */
  readonly countAdmitted: () => void
  /** Responses of this process whose end is being written down, by transaction. */
  readonly ending: Map<string, Promise<void>>
}

/** Whoever listens hears of it, and cannot break anything. */
export function emitTo(listener: (event: PaywallEvent) => unknown, event: PaywallEvent, log: Log): void {
  const report = (error: unknown) => log.error('on_event.failed', { on: event.kind, why: String(error) })
  try {
    const told = listener(event)
    if (told instanceof Promise) told.catch(report)
  } catch (error) {
    report(error)
  }
}

export function createRuntime(config: ServiceConfig, parts: RuntimeParts): Runtime {
  const { keyring } = parts
  const tags = createTags(keyring.tagKey)
  const macs = new Map<string, Hmac>()
  const recipients = new Set<string>()
  const routes = new Map<string, RouteFacts & { readonly tag: Uint8Array }>()
  const changes = createChanges()
  const listeners = new Map<(event: PaywallEvent) => unknown, number>()
  let earliestQuote = 0

  const macOf = (keyId: number, recipient: string): Hmac | undefined => {
    const name = `${keyId}:${recipient}`
    const known = macs.get(name)
    const key = keyring.sealKeys.get(keyId)
    if (known || !key) return known
    const bytes = decodeAddress(recipient) ?? new Uint8Array()
    const mac = prepareHmac(key, sealContext(config.network, config.service, bytes))
    macs.set(name, mac)
    return mac
  }

  return {
    ...parts,
    config,
    tags,
    watched: new Map(),
    payDesks: createPayDesks(),
    publicUrl: undefined,
    catalog: createCatalog(),
    warnings: createRouteWarnings(parts.log),
    changes,
    listen: (listener) => {
      listeners.set(listener, 1 + (listeners.get(listener) ?? 0))
      return () => {
        const left = (listeners.get(listener) ?? 1) - 1
        if (left > 0) listeners.set(listener, left)
        else listeners.delete(listener)
      }
    },
    emit: (event) => {
      if ('tx' in event) changes.note(event.tx)
      for (const listener of listeners.keys()) emitTo(listener, event, parts.log)
    },
    deadlines: createDeadlines(parts.clock),
    countAdmitted: parts.meter.counter('paystile_proofs_total', { outcome: 'admitted' }),
    ending: new Map(),
    pseudonyms: createPseudonyms(keyring.pseudonymKey),
    register: (scopes, added, about) => {
      for (const scope of scopes) {
        const known = routes.get(scope)
        const endpoint = known && known.endpoint !== about.endpoint ? '' : about.endpoint
        const proofTtlSeconds = Math.max(known?.proofTtlSeconds ?? 0, about.proofTtlSeconds)
        routes.set(scope, { endpoint, proofTtlSeconds, tag: tags.route(scope) })
      }
      for (const recipient of added) recipients.add(recipient)
    },
    quoteSecond: () => Math.max(earliestQuote, Math.floor(parts.clock.now() / 1000)),
    quoteAfter: (second) => {
      earliestQuote = Math.max(earliestQuote, second + 1)
    },
    sealWith: (recipient) => {
      const mac = macOf(keyring.sealing, recipient)
      if (!mac) throw new Error('the sealing key is missing from its own keyring')
      return mac
    },
    recognise: (request) => {
      if (!keyring.sealKeys.has(request.keyId)) return { kind: 'unknown_key' }
      for (const recipient of recipients) {
        const mac = macOf(request.keyId, recipient)
        if (mac && isAuthentic(request, mac)) return { kind: 'sealed', recipient }
      }
      return { kind: 'forged' }
    },
    findRoute: (tag) => [...routes.values()].find((known) => equalBytes(known.tag, tag)),
  }
}

export type TokenAccountOf = (owner: string, mint: Mint) => Promise<string>
