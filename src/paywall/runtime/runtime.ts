/**
 * The runtime of a service: the keys, the ledger and the nodes that its routes share, and the routes and recipients
 * that identify older requestIds.
 */
import type { Limits } from '../../core/collections/limits.ts'
import type { Turns } from '../../core/collections/turns.ts'
import { equalBytes, type Hmac, prepareHmac } from '../../core/encoding/hmac.ts'
import type { JournaledRates, RateTable } from '../../core/money/rates.ts'
import type { Mint, MintTable, TokenCode } from '../../core/money/tokens.ts'
import type { Meter } from '../../core/observability/metrics.ts'
import type { RefusalLog } from '../../core/payment/refusal-log.ts'
import type { TokenAccountOf } from '../../core/payment/requirements.ts'
import { nameRecipientSet, type RecipientSet, type Split } from '../../core/payment/splits.ts'
import type { Inspection } from '../../core/payment/token-rules.ts'
import type { Asset } from '../../core/payment/verify.ts'
import type { OutgoingWallet, OutgoingWalletLimits, WalletHistory } from '../../core/payouts/outgoing-wallet.ts'
import type { Sealer } from '../../core/payouts/ports/outgoing.ts'
import type { Venue } from '../../core/payouts/venue.ts'
import type { Chain, NodeState, Opening } from '../../core/ports/chain.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import type { PaymentDrafts } from '../../core/ports/payment-drafts.ts'
import type { Sponsor, SponsorState, Submitter } from '../../core/ports/sponsor.ts'
import type { Keyring } from '../../core/protocol/keyring.ts'
import { createPseudonyms, type Pseudonyms } from '../../core/protocol/pseudonyms.ts'
import { type Encode, isAuthentic, type OpenedRequest, sealContext } from '../../core/protocol/request-id.ts'
import { createTags, type Tags } from '../../core/protocol/tags.ts'
import type { Clock, ClockCheck, Identity, Log, Trace, Verifier } from '../../core/runtime.ts'
import type { ServiceConfig } from '../config/config.ts'
import type { VenueConfig } from '../config/conversion.ts'
import type { PaywallEvent } from '../config/events.ts'
import type { AccountKey } from '../config/kinds.ts'
import type { RatesConfig } from '../config/rates.ts'
import type { SponsorConfig } from '../config/sponsor.ts'
import { type Catalog, createCatalog } from './catalog.ts'
import { type Changes, createChanges } from './changes.ts'
import { createDeadlines, type Deadlines } from './deadlines.ts'
import type { FaucetOptions, FaucetSource } from './faucet-source.ts'
import { createPayDesks, type PayDesks } from './pay-desk.ts'
import type { PendingPayments } from './pending-payments.ts'
import type { RateLimit } from './rate-limit.ts'
import { createRouteWarnings, type RouteWarnings } from './route-warnings.ts'
import { createSplitRegistry, type SplitRegistry } from './split-registry.ts'
import type { TestPayer } from './test-payer.ts'
import { createTokenRegistry, type TokenRegistry } from './token-registry.ts'
import type { UnfinalizedPayments } from './unfinalized.ts'
import type { UsageCounters } from './usage-counters.ts'

/** The script and the style sheet of the checkout page, and the style sheet of the pages without a script. */
export interface CheckoutFiles {
  /** Differs for scripts that differ. */
  readonly version: string
  readonly script: string
  readonly style: string
  readonly plainStyle: string
}

/** The parts that the composition passes to `createRuntime`. */
export interface RuntimeParts {
  readonly chain: Chain
  readonly ledger: Ledger
  readonly clock: Clock
  readonly keyring: Keyring
  readonly verifier: Verifier
  /** Signs receipts. */
  readonly identity: Identity
  readonly genesis: string
  /** On a local chain, prepares a recipient to receive tokens. Resolves when it can receive, or cannot be prepared. */
  readonly prepareRecipient: (recipient: string) => Promise<void>
  readonly tokenAccountOf: TokenAccountOf
  /** Drafts of transactions for people's own wallets. */
  readonly paymentDrafts: PaymentDrafts
  /** The built files of the checkout page. Empty if the page was not built. */
  readonly checkoutFiles: CheckoutFiles
  /** The state of the nodes now. */
  readonly nodes: () => Promise<readonly NodeState[]>
  readonly versions: { readonly paystile: string; readonly node: string }
  /** Reads a recipient and the mints of its tokens from the nodes. */
  readonly inspect: (question: { readonly recipient: string; readonly mints: MintTable }) => Promise<Inspection>
  /** Opens the recipient's token account for a mint. The wallet of the key pays for it. */
  readonly openAccount: (order: {
    readonly recipient: string
    readonly mint: Mint
    readonly key: AccountKey
  }) => Promise<Opening>
  /** Transactions that clients of other protocols submit. */
  readonly submitter: Submitter
  /** The payments of one wallet that this process submits, one after the other. */
  readonly payerTurns: Turns
  /** Encodes a transaction for a node. */
  readonly encodeWire: (bytes: Uint8Array) => string
  /**
   * The wallet that pays network fees for these clients. Routes with the same key share it. It must be neither a
   * recipient nor the wallet of another key.
   */
  readonly openSponsor: (config: SponsorConfig, others: SponsorOthers) => SponsorHandle
  readonly listSponsors: () => readonly SponsorState[]
  /** Opens the wallet of a key for outgoing transactions. */
  readonly openOutgoingWallet: (key: AccountKey, limits: OutgoingWalletLimits) => Promise<OutgoingWallet>
  /** Opens the history of a wallet: its transactions on chain. */
  readonly openWalletHistory: (wallet: string) => WalletHistory
  /** Opens a venue that exchanges tokens for the wallet of a key. */
  readonly openVenue: (key: AccountKey, venue: VenueConfig) => Promise<Venue>
  /** Encrypts signed transactions before they are stored. */
  readonly sealer: Sealer
  /** Opens rates. Routes with the same settings share one source. */
  readonly openRates: (config: RatesConfig, mints: MintTable, use?: RatesUse) => Rates
  /** Pays with test money. Only on a local chain. */
  readonly testPayer: TestPayer | undefined
  /** Opens a source of test money, on test networks. Throws a `ConfigurationError` for an unusable key. */
  readonly openFaucetSource: (options: FaucetOptions) => FaucetSource | undefined
  /** The platform's fastest base64url, because every 402 uses it. */
  readonly encode: Encode
  readonly log: Log
  readonly trace: Trace
  readonly meter: Meter
  /** The metrics of all processes of the gateway, in Prometheus's text format. */
  readonly formatMetrics: () => Promise<string>
  /** Whether this process does the background work of the gateway now. */
  readonly leads: () => boolean
  /** Sales stop while the clock is wrong. */
  readonly clockCheck: ClockCheck
  /** The limits that all processes of a gateway share. Otherwise new ones of this process. */
  readonly openLimits: () => Limits
  readonly rateLimit: RateLimit
  readonly exposure: UnfinalizedPayments
  readonly usage: UsageCounters
  readonly refusals: RefusalLog
  /** Payments with a genuine proof that cannot be verified yet. */
  readonly pending: PendingPayments
}

/** The other wallets of a route, or of the facilitator. */
export interface SponsorOthers {
  readonly recipients: readonly string[]
  readonly splits?: readonly Split[]
  readonly accountKey?: AccountKey | undefined
}

/** A sponsor whose key may still be opening. */
export interface SponsorHandle {
  /** Undefined, too, if its wallet has another purpose. */
  current(): Sponsor | undefined
  /** The other purpose of its wallet, as a sentence for the operator. */
  problem(): string | undefined
  /** Resolves when its key is open and its balance was read once, or this failed. */
  ready(): Promise<void>
  /** Whether it can pay a fee now: its balance is above the floor, and a recent blockhash is known. */
  isOffering(): boolean
  /** A limit is reached: it is not offered for a minute. */
  rest(limit: 'day' | 'lost'): void
}

/**
 * The use of rates. Those for prices value payments. Those for rewards value payments without a frozen rate of NATIVE.
 */
export type RatesUse = 'prices' | 'rewards'

/** The rates of tokens. Only `find` reads the ledger or the source. */
export interface Rates {
  /** Returns the same object until a rate changes. */
  current(): RateTable
  /** The reason that a token has no usable rate, as one sentence. */
  why(token: TokenCode): string | undefined
  /** Resolves after the first request to the source, successful or not. */
  ready(): Promise<void>
  /** The surcharge for payments in another token than the price's. */
  readonly spread: number
  /** From now on, the ledger stores the rates. Called if something is valued by them later. */
  keep(): void
  /** The rates that value a payment at this time, as stored by `RateJournal`. */
  find(time: number, tokens: readonly TokenCode[]): Promise<JournaledRates>
}

export type Recognition =
  | ({ readonly kind: 'sealed' } & RecipientSet)
  | { readonly kind: 'forged' }
  /** The key of the requestId is retired. Only the ledger can tell whether the requestId is genuine. */
  | { readonly kind: 'unknown_key' }

/** The facts of a route that its tag identifies. */
export interface RouteFacts {
  /** The name of the resource in analytics. Empty if the route sells several. */
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
  /** Registers the scopes and sets of recipients of a route, so that other routes can identify its requestIds. */
  register(scopes: readonly string[], recipientSets: readonly RecipientSet[], about: RouteFacts): void
  /** The issue time of a new quote, in seconds. */
  quoteSecond(): number
  /** All further quotes are issued after this second, so the issue time shows which quotes came before. */
  quoteAfter(second: number): void
  sealWith(recipientSet: RecipientSet): Hmac
  recognise(request: OpenedRequest): Recognition
  /**
   * The same, but reads the ledger again if the requestId is unknown: another server may have new splits. Throws
   * `LedgerUnavailable` if that is not possible.
   */
  identify(request: OpenedRequest): Promise<Recognition>
  /** The route of a requestId. Undefined if it belongs to no route of this service. */
  findRoute(tag: Uint8Array): RouteFacts | undefined
  /**
   * From now on, the rewards of this process pay the shares of payments to these wallets. The returned function ends this.
   */
  collect(wallets: readonly string[]): () => void
  /** Whether the rewards pay the shares of payments to this wallet. */
  isCollector(wallet: string): boolean
  /** The watched accounts, with their recipient and token. */
  readonly watched: Map<string, WatchedAccount>
  /** The pay desks of the routes, which serve `/pay`. */
  readonly payDesks: PayDesks
  /** The public address of the service's own endpoints, if this process serves them. */
  publicUrl: string | undefined
  /** Announces the address of a front page. The returned function withdraws it. */
  addFrontPage(address: string): () => void
  /** The address of the front page. Undefined if this process serves none. */
  findFrontPage(): string | undefined
  /**
   * Adds a listener for events on chain. Each listener gets an event once, regardless of the number of routes. The
   * returned function removes it.
   */
  listen(listener: (event: PaywallEvent) => unknown): () => void
  emit(event: PaywallEvent): void
  /** The paywalls of the service. */
  readonly catalog: Catalog
  readonly warnings: RouteWarnings
  /** The tokens of the ledger, including those that are no longer configured. */
  readonly tokens: TokenRegistry
  /** The splits of all quotes, including those that are no longer configured. */
  readonly splits: SplitRegistry
  /** Payments that changed, for the event stream. */
  readonly changes: Changes
  /** The ends of time windows, for the responses that run in them. */
  readonly deadlines: Deadlines
  /** Counts an admitted proof. */
  readonly countAdmitted: () => void
  /** By transaction: the responses of this process whose end is being recorded. */
  readonly ending: Map<string, Promise<void>>
}

/** Calls a listener. Its errors are logged and have no other effect. */
export function emitTo(listener: (event: PaywallEvent) => unknown, event: PaywallEvent, log: Log): void {
  const report = (error: unknown) => log.error('on_event.failed', { on: event.kind, why: String(error) })
  try {
    const told = listener(event)
    if (told instanceof Promise) told.catch(report)
  } catch (error) {
    report(error)
  }
}

function createCollectors(): Pick<Runtime, 'collect' | 'isCollector'> {
  const collectors = new Set<readonly string[]>()
  return {
    collect: (wallets) => {
      const added = [...wallets]
      collectors.add(added)
      return () => void collectors.delete(added)
    },
    isCollector: (wallet) => [...collectors].some((wallets) => wallets.includes(wallet)),
  }
}

/** While a configuration is replaced, there are two front pages, and the new one counts. */
function createFrontPages(): Pick<Runtime, 'addFrontPage' | 'findFrontPage'> {
  let pages: readonly { readonly address: string }[] = []
  return {
    addFrontPage: (address) => {
      const added = { address }
      pages = [...pages, added]
      return () => {
        pages = pages.filter((page) => page !== added)
      }
    },
    findFrontPage: () => pages.at(-1)?.address,
  }
}

export function createRuntime(config: ServiceConfig, parts: RuntimeParts): Runtime {
  const { keyring } = parts
  const tags = createTags(keyring.tagKey)
  const macs = new Map<string, Hmac>()
  const recipientSets = new Map<string, RecipientSet>()
  const recipients = new Set<string>()
  const splits = createSplitRegistry(parts.ledger.kv, parts.clock)
  const routes = new Map<string, RouteFacts & { readonly tag: Uint8Array }>()
  const changes = createChanges()
  const listeners = new Map<(event: PaywallEvent) => unknown, number>()
  let earliestQuote = 0

  const macOf = (
    keyId: number,
    recipientSet: RecipientSet,
    name = nameRecipientSet(recipientSet),
  ): Hmac | undefined => {
    const place = `${keyId}:${name}`
    const known = macs.get(place)
    const key = keyring.sealKeys.get(keyId)
    if (known || !key) return known
    const mac = prepareHmac(key, sealContext(config.network, config.service, recipientSet))
    macs.set(place, mac)
    return mac
  }
  const recognise = (request: OpenedRequest): Recognition => {
    const { keyId } = request
    if (!keyring.sealKeys.has(keyId)) return { kind: 'unknown_key' }
    for (const [name, recipientSet] of recipientSets) {
      const mac = macOf(keyId, recipientSet, name)
      if (mac && isAuthentic(request, mac)) return { kind: 'sealed', ...recipientSet }
    }
    for (const [name, recipientSet] of splits.known()) {
      const mac = recipients.has(recipientSet.recipient) ? macOf(keyId, recipientSet, name) : undefined
      if (mac && isAuthentic(request, mac)) return { kind: 'sealed', ...recipientSet }
    }
    return { kind: 'forged' }
  }

  return {
    ...parts,
    config,
    tags,
    ...createCollectors(),
    ...createFrontPages(),
    watched: new Map(),
    payDesks: createPayDesks(),
    publicUrl: undefined,
    catalog: createCatalog(),
    warnings: createRouteWarnings(parts.log),
    tokens: createTokenRegistry(parts.ledger.kv),
    splits,
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
      for (const recipientSet of added) {
        recipientSets.set(nameRecipientSet(recipientSet), recipientSet)
        recipients.add(recipientSet.recipient)
      }
    },
    quoteSecond: () => Math.max(earliestQuote, Math.floor(parts.clock.now() / 1000)),
    quoteAfter: (second) => {
      earliestQuote = Math.max(earliestQuote, second + 1)
    },
    sealWith: (recipientSet) => {
      const mac = macOf(keyring.sealing, recipientSet)
      if (!mac) throw new Error('the sealing key is missing from its own keyring')
      return mac
    },
    recognise,
    identify: async (request) => {
      const known = recognise(request)
      if (known.kind !== 'forged') return known
      await splits.refresh()
      return recognise(request)
    },
    findRoute: (tag) => [...routes.values()].find((known) => equalBytes(known.tag, tag)),
  }
}
