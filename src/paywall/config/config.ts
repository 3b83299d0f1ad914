import type { z } from 'zod'
import type { Seller } from '../../core/checkout/seller.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { ConfigurationError, type ConfigurationProblem } from '../../core/errors/configuration-error.ts'
import type { NamedEndpoint } from '../../core/http/endpoint.ts'
import { convertAll } from '../../core/money/spread.ts'
import type { MintTable, Network, TokenCode } from '../../core/money/tokens.ts'
import { findDecimals, isKnownCode, parseNodes, publicNodes } from '../../core/money/tokens.ts'
import { type Allowance, isOneRequest } from '../../core/payment/allowance.ts'
import type { Envelope } from '../../core/payment/envelope.ts'
import type { RecipientSet } from '../../core/payment/splits.ts'
import type { Ledger } from '../../core/ports/ledger.ts'
import { type Keyring, readKeyring } from '../../core/protocol/keyring.ts'
import type { Log } from '../../core/runtime.ts'
import { checkHeaderSize } from '../../dialects/header-size.ts'
import type { MppParts } from '../../dialects/mpp.ts'
import { type Bind, checkBind } from './binding.ts'
import { type ConversionConfig, readConversion } from './conversion.ts'
import type { PaywallEvent } from './events.ts'
import { type FinalityAt, readFinality } from './finality.ts'
import type { AccountKey } from './kinds.ts'
import { checkCode, type MintRules, readMints } from './mints.ts'
import { type ProviderOptions, providerSchema, usualOptions } from './options.ts'
import { type FreeQuota, type Pricing, readFree, readPricing, readReopen } from './pricing.ts'
import { formatProblem, parseOptions } from './problems.ts'
import { type RatesConfig, readRatesOption } from './rates.ts'
import { readSplits } from './splits.ts'
import { readSponsor, type SponsorConfig } from './sponsor.ts'

/**
 * The settings that all routes of one service share. Routes with equal settings share one ledger and one set of nodes.
 */
export interface ServiceConfig {
  readonly network: Network
  /** Empty for a localnet that is started in this process. */
  readonly rpc: readonly string[]
  readonly ledger: string | Ledger | undefined
  /** Undefined only on localnet, which creates one and stores it with the chain's data. */
  readonly keyring: Keyring | undefined
  readonly service: string
  readonly watch: boolean
  readonly reportToken: TokenCode
}

export interface RouteConfig extends RecipientSet {
  readonly pricing: Pricing
  readonly acceptedMints: readonly TokenCode[]
  readonly rates: RatesConfig
  readonly mints: MintTable
  readonly allowedTraits: MintRules['allowedTraits']
  /** Pays for missing token accounts of the recipient. */
  readonly accountKey: AccountKey | undefined
  /** Pays network fees for clients of other protocols. */
  readonly sponsor: SponsorConfig | undefined
  /** Undefined if x402 is not accepted. */
  readonly x402: { readonly v1: boolean } | undefined
  /** Undefined if MPP is not accepted. */
  readonly mpp: Pick<MppParts, 'push' | 'header'> | undefined
  /** Undefined without conversion. */
  readonly conversion: ConversionConfig | undefined
  readonly verifyOnChain: boolean
  readonly waitMs: number
  readonly leaseMs: number
  readonly finality: FinalityAt
  readonly trustProxy: number
  readonly scope: string
  /** Whether the provider set the scope. */
  readonly hasScope: boolean
  readonly bind: Bind
  readonly bodyLimitBytes: number
  readonly rawBody: ((request: object) => unknown) | undefined
  readonly free: FreeQuota | undefined
  readonly proofBinding: 'negotiated' | 'required'
  readonly challengeTtlSeconds: number
  readonly proofTtlSeconds: number
  readonly allowanceTtlSeconds: number
  readonly publicUrl: string | undefined
  readonly seller: Seller | undefined
  readonly description: string | undefined
  readonly endpoint: NamedEndpoint | undefined
  readonly envelope: Envelope
  readonly cors: boolean
  readonly checkout: boolean
  /** The window that a purchase in a browser buys. Undefined if it buys one request. */
  readonly reopen: Allowance | undefined
  readonly retiredRecipients: readonly string[]
  readonly retiredScopes: readonly string[]
  readonly retiredBinds: readonly Bind[]
}

export interface Config {
  readonly service: ServiceConfig
  readonly route: RouteConfig
  readonly onEvent: ((event: PaywallEvent) => void) | undefined
  readonly log: Log | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Options that can come from the environment, with their variables. */
export const fromEnvironment: Readonly<Record<string, string>> = {
  recipient: 'PAYSTILE_RECIPIENT',
  network: 'PAYSTILE_NETWORK',
  rpc: 'PAYSTILE_RPC',
  ledger: 'PAYSTILE_LEDGER',
  secret: 'PAYSTILE_SECRET',
  accountKey: 'PAYSTILE_ACCOUNT_KEY',
  settlementKey: 'PAYSTILE_SETTLEMENT_KEY',
  sponsor: 'PAYSTILE_SPONSOR_KEY',
  service: 'PAYSTILE_SERVICE',
  publicUrl: 'PAYSTILE_PUBLIC_URL',
  faucetKey: 'PAYSTILE_FAUCET_KEY',
  refundKey: 'PAYSTILE_REFUND_KEY',
}
/** The paywall's options. The keys of the faucet and of refunds belong to the service. */
const paywallNames = Object.keys(fromEnvironment).filter((name) => name !== 'faucetKey' && name !== 'refundKey')

/** Adds options from the environment, and locates problems where the value was written. */
export function withEnvironment(options: object, environment: Environment, names = paywallNames) {
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const variables = new Map<string, string>()
  for (const option of names) {
    const variable = fromEnvironment[option] ?? ''
    const value = environment[variable]
    if (!value) continue
    const completed = option === 'sponsor' ? withSponsorKey(given[option], value) : given[option]
    if (completed !== undefined && completed === given[option]) continue
    given[option] = completed ?? (option === 'rpc' ? parseNodes(value) : value)
    variables.set(option, variable)
  }
  /** Reports a wrong value with the name of its variable. */
  const locate = (problem: string): string | ConfigurationProblem => {
    const [option = ''] = /^\w+/.exec(problem) ?? []
    const variable = variables.get(option)
    if (variable === undefined) return problem
    return { code: 'variable', message: `${option} (${variable})${problem.slice(option.length)}`, variable }
  }
  return { given, locate, variables }
}

/** The limits of a sponsor can be options while its key comes from the environment. */
function withSponsorKey(sponsor: unknown, key: string): unknown {
  if (sponsor === undefined || sponsor === true) return key
  return isFields(sponsor) && !('key' in sponsor) && Object.getPrototypeOf(sponsor) === Object.prototype
    ? { ...sponsor, key }
    : sponsor
}

/**
 * Reads a provider's options. Precedence: option, environment, default. Throws a `ConfigurationError` with all
 * problems.
 */
export function readConfig(options: ProviderOptions, environment: Environment): Config {
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(['the options must be an object such as { price, recipient }'])
  const { given, locate } = withEnvironment(options, environment)
  const reading = parseOptions(providerSchema, given)
  if (reading.kind === 'problems') throw new ConfigurationError(reading.problems.map(formatProblem).map(locate))
  const completed = completeConfig(reading.options)
  if (completed.kind === 'problems') throw new ConfigurationError(completed.problems.map(locate))
  return completed.config
}

export type ParsedOptions = z.output<typeof providerSchema>
type Complete<Parsed> = Parsed & {
  readonly [Name in keyof Parsed & keyof typeof usualOptions]: NonNullable<Parsed[Name]>
}

/** Adds the default values to parsed options. */
export function withUsual<Parsed extends object>(parsed: Parsed): Complete<Parsed> {
  return { ...usualOptions, ...parsed } as unknown as Complete<Parsed>
}

type ConfigReading =
  | { readonly kind: 'config'; readonly config: Config }
  | { readonly kind: 'problems'; readonly problems: readonly string[] }

/** Completes parsed options to a configuration, and lists the problems of combined options. */
export function completeConfig(parsed: ParsedOptions): ConfigReading {
  const read = withUsual(parsed)
  const problems: string[] = []
  const { mints, allowedTraits } = readMints(read, problems)
  const rates = readRatesOption(read.rates, read.network, mints, problems)
  const acceptedMints = [...new Set(read.acceptedMints ?? [read.token])]
  checkCodes(read, mints, problems)
  const pricing = readPricing(read, mints, problems)
  checkTokens(read, pricing, acceptedMints, mints, rates, problems)
  const splits = readSplits(read, pricing, acceptedMints, problems)
  const free = readFree(read.free)
  checkBind(read.bind, read.checkout, problems)
  const reopen = readReopen(read.reopen, pricing, read.bind, problems)
  const finality = readFinality(read, mints, problems)
  const keyring = read.secret === undefined ? undefined : openKeyring(read.secret, problems)
  checkNetwork(read, problems)
  const sponsor = readSponsor(read.sponsor, read.network, problems)
  if (read.x402 !== undefined && read.x402 !== false && !sponsor)
    problems.push('x402: needs a wallet that pays the network fees (option sponsor)')
  const mpp = readMpp(read.mpp, sponsor !== undefined)
  if (mpp && mpp.header !== 'Payment-Authorization' && bindsAuthorization(read.bind))
    problems.push(
      "bind.headers: clients of MPP pay in Authorization, so it differs on the paid request; set mpp: { header: 'Payment-Authorization' } or mpp: false",
    )
  const conversion = readConversion(read, { acceptedMints, mints, rates }, problems)
  if (problems.length > 0) return { kind: 'problems', problems }
  const { recipient, retired } = read
  const config = Object.freeze({
    service: readServiceConfig(read, keyring),
    route: Object.freeze({
      recipient,
      splits,
      pricing,
      acceptedMints,
      rates,
      mints,
      allowedTraits,
      accountKey: read.accountKey,
      sponsor,
      x402: readX402(read.x402, sponsor !== undefined),
      mpp,
      conversion,
      verifyOnChain: read.verifyOnChain,
      waitMs: read.waitSeconds * 1000,
      leaseMs: read.leaseSeconds * 1000,
      finality,
      trustProxy: read.trustProxy,
      scope: read.scope ?? 'default',
      hasScope: read.scope !== undefined,
      bind: read.bind,
      bodyLimitBytes: read.bodyLimitBytes,
      rawBody: read.rawBody,
      free,
      proofBinding: read.proofBinding,
      challengeTtlSeconds: read.challengeTtlSeconds,
      proofTtlSeconds: read.proofTtlSeconds,
      allowanceTtlSeconds: read.allowanceTtlSeconds,
      publicUrl: read.publicUrl?.replace(/\/$/, ''),
      seller: read.seller,
      description: read.description,
      endpoint: read.endpoint,
      envelope: read.envelope,
      cors: read.cors,
      checkout: read.checkout,
      reopen,
      retiredRecipients: retired?.recipients ?? [],
      retiredScopes: retired?.scopes ?? [],
      retiredBinds: retired?.binds ?? [],
    }),
    onEvent: read.onEvent,
    log: read.log,
  })
  const problem = checkHeaders(config)
  return problem === undefined ? { kind: 'config', config } : { kind: 'problems', problems: [problem] }
}

function checkHeaders({ service, route }: Config): string | undefined {
  const { pricing, mpp, x402, sponsor, ...terms } = route
  if (pricing.per.kind !== 'allowance' || !isOneRequest(pricing.per.allowance)) return undefined
  const realm = nameRealm(route.publicUrl, service.service)
  const sold = { network: service.network, token: pricing.token, isSponsored: sponsor !== undefined }
  return checkHeaderSize({ ...terms, ...sold, hasX402: x402 !== undefined, mpp: mpp && { ...mpp, realm } })
}

/** The name of the service in MPP. */
export function nameRealm(publicUrl: string | undefined, service: string): string {
  return publicUrl === undefined ? service : new URL(publicUrl).hostname
}

function readX402(option: ParsedOptions['x402'], isSponsored: boolean): RouteConfig['x402'] {
  if (option === false || !isSponsored) return undefined
  return { v1: typeof option === 'object' && option.v1 === true }
}

function bindsAuthorization(bind: Bind): boolean {
  return typeof bind === 'object' && bind.headers?.includes('authorization') === true
}

function readMpp(option: ParsedOptions['mpp'], isSponsored: boolean): RouteConfig['mpp'] {
  if (option === false || (option === undefined && !isSponsored)) return undefined
  const { push = false, header } = typeof option === 'object' ? option : {}
  return { push, header }
}

type OptionsRead = Complete<ParsedOptions>
type ServiceRead = Pick<OptionsRead, 'network' | 'rpc' | 'ledger' | 'secret' | 'service' | 'watch' | 'reportToken'>

export function readServiceConfig(read: ServiceRead, keyring: Keyring | undefined): ServiceConfig {
  const { network, ledger, service, watch, reportToken } = read
  const rpc = typeof read.rpc === 'string' ? [read.rpc] : (read.rpc ?? publicNodes[network])
  return Object.freeze({ network, rpc, ledger, keyring, service, watch, reportToken })
}

/** Checks the requirements of the network. */
export function checkService({ network, ledger, secret, rpc }: ServiceRead, problems: string[]): void {
  if (network === 'mainnet') {
    if (rpc === undefined || rpc.length === 0) {
      problems.push(
        "rpc: mainnet needs at least one node URL (option rpc or PAYSTILE_RPC); for tests, use network: 'localnet'",
      )
    }
  }
  if (network !== 'localnet' && secret === undefined) {
    problems.push(`secret: ${network} needs a keyring (option secret or PAYSTILE_SECRET); ${howToCreate}`)
  }
  if (network !== 'localnet' && typeof ledger === 'string' && ledger.startsWith('memory:')) {
    problems.push(
      `ledger: a ledger in memory loses payments at every restart, so ${network} does not allow it; set a file path`,
    )
  }
}

function checkNetwork(read: OptionsRead, problems: string[]): void {
  const { network, verifyOnChain } = read
  checkService(read, problems)
  if (network === 'mainnet' && !verifyOnChain)
    problems.push(
      'verifyOnChain: false is not allowed on mainnet, because unpaid requests would pass; use it on localnet and devnet',
    )
}

/** Every named token must be known. */
function checkCodes(read: OptionsRead, mints: MintTable, problems: string[]): void {
  const { token, acceptedMints = [], settlementToken, reportToken } = read
  checkCode('token', token, mints, problems)
  for (const code of new Set(acceptedMints)) checkCode('acceptedMints', code, mints, problems)
  if (settlementToken !== undefined) checkCode('settlementToken', settlementToken, mints, problems)
  checkCode('reportToken', reportToken, mints, problems)
}

/** An accepted token must have a mint, and a rate if the price is in another token. */
function checkTokens(
  read: OptionsRead,
  { token, decimals, price }: Pricing,
  accepted: readonly TokenCode[],
  mints: MintTable,
  rates: RatesConfig,
  problems: string[],
): void {
  // Other code reports a wrong price. Any amount shows whether there is a rate.
  const units = typeof price === 'bigint' && price > 0n ? price : 1n
  const amounts = rates.kind === 'fixed' && convertAll({ token, units, decimals }, accepted, mints, rates.table)
  for (const code of accepted) {
    if (findDecimals(code, mints) === undefined) {
      if (code !== token && isKnownCode(code))
        problems.push(`mints.${code}: ${code} has no mint on ${read.network}; give its address and decimals`)
    } else if (amounts && amounts[code] === undefined) {
      problems.push(
        `rates.${code}: ${code} is accepted for a price in ${token}, so both need a rate: a table, 'pyth' or 'jupiter'`,
      )
    }
  }
}

const howToCreate = 'create one with: echo "1:$(openssl rand -base64 32)"'

/** Opens the keyring. Problems are added to the list. */
export function openKeyring(secret: string, problems: string[]): Keyring | undefined {
  const reading = readKeyring(secret)
  if (reading.kind === 'keyring') return reading.keyring
  problems.push(`secret: ${reading.why}; the format is id:secret,id:secret; ${howToCreate}`)
  return undefined
}
