/**
 * Options as they are used: checked all at once, completed from the environment and the defaults, frozen.
 */
import { z } from 'zod'
import type { Keyring } from '../core/keys.ts'
import { readKeyring } from '../core/keys.ts'
import { parseLedgerUrl } from '../core/ledger-url.ts'
import type { MintTable, Network, TokenCode } from '../core/network.ts'
import { decimalsOf, isUnspendable, networks, parseNodes, publicNodes, tokenCodes } from '../core/network.ts'
import type { Ledger, Log } from '../core/ports.ts'
import { convertAll } from '../core/rates.ts'
import { nearest } from '../core/suggest.ts'
import type { Bind } from './binding.ts'
import { ConfigurationError } from './configuration-error.ts'
import type { Envelope } from './envelope.ts'
import { envelopes } from './envelope.ts'
import type { PaywallEvent } from './events.ts'
import type { FinalityAt } from './finality-rule.ts'
import { readFinality } from './finality-rule.ts'
import type { FreeQuota } from './free.ts'
import type { MintRules } from './mint-options.ts'
import { accountKeyOption, address, mintsOption, readMints } from './mint-options.ts'
import type { AccountKey, ProviderOptions } from './options.ts'
import type { Pricing } from './pricing.ts'
import { readFree, readPricing } from './pricing-option.ts'
import { usualProofTtlSeconds } from './quote.ts'
import type { RatesConfig } from './rates-option.ts'
import { readRatesOption } from './rates-option.ts'

/** What all routes of one service share. Routes with equal settings share one ledger and one set of nodes. */
export interface ServiceConfig {
  readonly network: Network
  /** Empty on a localnet that is to be started in this process. */
  readonly rpc: readonly string[]
  readonly ledger: string | Ledger | undefined
  /** May be undefined on localnet, where one is made and kept beside the data. */
  readonly keyring: Keyring | undefined
  readonly service: string
  readonly watch: boolean
}

export interface RouteConfig {
  readonly recipient: string
  readonly pricing: Pricing
  readonly acceptedMints: readonly TokenCode[]
  readonly rates: RatesConfig
  readonly mints: MintTable
  readonly allowedTraits: MintRules['allowedTraits']
  /** Pays for token accounts that the recipient lacks. */
  readonly accountKey: AccountKey | undefined
  readonly verifyOnChain: boolean
  readonly waitMs: number
  readonly leaseMs: number
  readonly finality: FinalityAt
  readonly trustProxy: number
  readonly scope: string
  /** Whether the provider named it. */
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
  readonly description: string | undefined
  readonly envelope: Envelope
  readonly cors: boolean
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

const wallet = address.refine(
  (text) => !isUnspendable(text),
  'is a program or a mint, not a wallet: nobody could spend it',
)
const token = z.enum(tokenCodes)
const seconds = (least: number, most: number) =>
  z
    .number({ error: 'must be a number of seconds' })
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
const wholeSeconds = (least: number, most: number) =>
  seconds(least, most).refine(Number.isInteger, { error: 'must be a whole number of seconds' })
const notLabel = 'must be 1 to 64 printable characters without spaces'
const label = z.string(notLabel).regex(/^[\x21-\x7e]{1,64}$/, notLabel)
const flag = z.boolean({ error: 'must be true or false' })
const nodeUrl = z.string().refine((text) => isUrl(text), { error: 'must be an http or https URL' })
const callback = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')
const headerName = z
  .string('must be the name of a header')
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the name of a header')
  .transform((name) => name.toLowerCase())
const bind = z.union(
  [
    z.enum(['request', 'path']),
    z.strictObject({
      query: z.array(z.string()).max(32).optional(),
      headers: z.array(headerName).max(32).optional(),
      body: flag.optional(),
    }),
  ],
  { error: "must be 'request', 'path' or { query: [names], headers: [names], body: true }" },
)

const schema = z.strictObject({
  price: z.unknown(),
  token,
  recipient: wallet,
  verifyOnChain: flag.default(true),
  network: z.enum(networks).default('mainnet'),
  acceptedMints: z.array(token, { error: 'must be a list of token codes' }).min(1, 'must name a token').optional(),
  settlementToken: token.optional(),
  autoConversion: flag.default(false),
  rpc: z
    .union([nodeUrl, z.array(nodeUrl)], { error: 'must be the http or https URL of a node, or a list of them' })
    .optional(),
  ledger: z
    .custom<string | Ledger>(
      isLedgerOption,
      'must be a file path, sqlite: and a path, postgres: and an address, memory: or a ledger',
    )
    .optional(),
  secret: z.string().optional(),
  mints: mintsOption,
  accountKey: accountKeyOption,
  rates: z.unknown().optional(),
  service: label.default('default'),
  scope: label.optional(),
  publicUrl: z.string().refine(isPublicUrl, { error: 'must be an http or https URL without query' }).optional(),
  per: z.unknown().optional(),
  size: z.unknown().optional(),
  prepay: z.unknown().optional(),
  free: z.unknown().optional(),
  bind: bind.default('request'),
  rawBody: callback.optional(),
  bodyLimitBytes: z
    .int({ error: 'must be a whole number of bytes' })
    .min(1, { error: 'must be at least 1' })
    .max(100_000_000, { error: 'must be at most 100000000' })
    .default(1_000_000),
  proofBinding: z.enum(['negotiated', 'required']).default('negotiated'),
  challengeTtlSeconds: wholeSeconds(120, 86_400).default(300),
  proofTtlSeconds: wholeSeconds(60, 30 * 86_400).default(usualProofTtlSeconds),
  allowanceTtlSeconds: wholeSeconds(60, 10 * 365 * 86_400).default(30 * 86_400),
  waitSeconds: seconds(0, 60).default(10),
  leaseSeconds: seconds(0.1, 3600).default(30),
  finalizedFrom: z.unknown().optional(),
  maxUnfinalized: z.unknown().optional(),
  watch: flag.default(true),
  trustProxy: z
    .int({ error: 'must be the number of proxies in front' })
    .min(0, { error: 'must be at least 0' })
    .max(16, { error: 'must be at most 16' })
    .default(0),
  description: z.string().max(200, 'must be at most 200 characters').optional(),
  envelope: z.enum(envelopes).default('none'),
  cors: flag.default(true),
  retired: z
    .strictObject({
      recipients: z.array(address).default([]),
      scopes: z.array(label).default([]),
      binds: z.array(bind).default([]),
    })
    .default({ recipients: [], scopes: [], binds: [] }),
  onEvent: callback.optional(),
  log: z
    .custom<Log>((value) => typeof value === 'object' && value !== null, 'must be { info, warn, error }')
    .optional(),
})
type Read = z.infer<typeof schema>

const fromEnvironment: Readonly<Record<string, string>> = {
  recipient: 'PAYSTILE_RECIPIENT',
  network: 'PAYSTILE_NETWORK',
  rpc: 'PAYSTILE_RPC',
  ledger: 'PAYSTILE_LEDGER',
  secret: 'PAYSTILE_SECRET',
  accountKey: 'PAYSTILE_ACCOUNT_KEY',
  service: 'PAYSTILE_SERVICE',
  publicUrl: 'PAYSTILE_PUBLIC_URL',
}
/** Options that may hold a password or a key, also where they are wrong. */
const unshown: readonly unknown[] = ['secret', 'ledger', 'rpc', 'publicUrl', 'rates', 'accountKey']

/** Reads a provider's options. Option before environment before default; throws a `ConfigurationError` with all problems. */
export function readConfig(options: ProviderOptions, environment: Environment): Config {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigurationError(['the options must be an object such as { price, token, recipient }'])
  }
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const variables: Record<string, string> = {}
  for (const [option, variable] of Object.entries(fromEnvironment)) {
    const value = environment[variable]
    if (given[option] !== undefined || !value) continue
    given[option] = option === 'rpc' ? parseNodes(value) : value
    variables[option] = variable
  }
  /** What is wrong is to be mended where it was written. */
  const locate = (problem: string): string =>
    problem.replace(/^\w+/, (option) => (variables[option] ? `${option} (${variables[option]})` : option))
  const reading = schema.safeParse(given, { reportInput: true, error: describe })
  if (!reading.success) throw new ConfigurationError(reading.error.issues.flatMap(explain).map(locate))
  return complete(reading.data, locate)
}

function complete(read: Read, locate: (problem: string) => string): Config {
  const problems: string[] = []
  const { mints, allowedTraits } = readMints(read.network, read.mints, problems)
  const rates = readRatesOption(read.rates, read.network, problems)
  const acceptedMints = [...new Set(read.acceptedMints ?? [read.token])]
  const pricing = readPricing(read, mints, problems)
  checkTokens(read, pricing, acceptedMints, mints, rates, problems)
  const free = readFree(read.free, problems)
  const finality = readFinality(read, mints, problems)
  const keyring = read.secret === undefined ? undefined : openKeyring(read.secret, problems)
  checkNetwork(read, acceptedMints, problems)
  if (problems.length > 0) throw new ConfigurationError(problems.map(locate))
  const rpc = typeof read.rpc === 'string' ? [read.rpc] : (read.rpc ?? publicNodes[read.network])
  const { network, ledger, service, recipient, retired } = read
  return Object.freeze({
    service: Object.freeze({ network, rpc, ledger, keyring, service, watch: read.watch }),
    route: Object.freeze({
      recipient,
      pricing,
      acceptedMints,
      rates,
      mints,
      allowedTraits,
      accountKey: read.accountKey,
      verifyOnChain: read.verifyOnChain,
      waitMs: read.waitSeconds * 1000,
      leaseMs: read.leaseSeconds * 1000,
      finality,
      trustProxy: read.trustProxy,
      scope: read.scope ?? 'default',
      hasScope: read.scope !== undefined,
      bind: withoutUndefinedParts(read.bind),
      bodyLimitBytes: read.bodyLimitBytes,
      rawBody: read.rawBody as RouteConfig['rawBody'],
      free,
      proofBinding: read.proofBinding,
      challengeTtlSeconds: read.challengeTtlSeconds,
      proofTtlSeconds: read.proofTtlSeconds,
      allowanceTtlSeconds: read.allowanceTtlSeconds,
      publicUrl: read.publicUrl?.replace(/\/$/, ''),
      description: read.description,
      envelope: read.envelope,
      cors: read.cors,
      retiredRecipients: retired.recipients,
      retiredScopes: retired.scopes,
      retiredBinds: retired.binds.map(withoutUndefinedParts),
    }),
    onEvent: read.onEvent as Config['onEvent'],
    log: read.log,
  })
}

function checkNetwork(read: Read, acceptedMints: readonly TokenCode[], problems: string[]): void {
  const { network, ledger, secret, rpc, verifyOnChain, autoConversion, settlementToken } = read
  if (network === 'mainnet') {
    if (rpc === undefined || rpc.length === 0) {
      problems.push(
        "rpc: mainnet needs at least one node URL (option rpc or PAYSTILE_RPC); to try things out, use network: 'localnet'",
      )
    }
    if (!verifyOnChain)
      problems.push('verifyOnChain: false would give everything away on mainnet; it is for localnet and devnet')
  }
  if (network !== 'localnet' && secret === undefined) {
    problems.push(
      `secret: ${network} needs a keyring (option secret or PAYSTILE_SECRET); make one with: echo "1:$(openssl rand -base64 32)"`,
    )
  }
  if (network !== 'localnet' && typeof ledger === 'string' && ledger.startsWith('memory:')) {
    problems.push(`ledger: memory forgets payments at every restart, so it is refused on ${network}; give a file path`)
  }
  const others = acceptedMints.filter((code) => code !== settlementToken)
  if (autoConversion && settlementToken === undefined)
    problems.push('autoConversion: needs settlementToken to say into what')
  else if (autoConversion && others.length > 0) {
    problems.push(
      `autoConversion: no settlement worker is running for this recipient, so ${others.join(' and ')} would stay unconverted; ` +
        `accept only ${settlementToken}, or leave autoConversion out`,
    )
  }
}

/** What is accepted must have a mint, and a rate where the price is in another token. */
function checkTokens(
  read: Read,
  { token, decimals, price }: Pricing,
  accepted: readonly TokenCode[],
  mints: MintTable,
  rates: RatesConfig,
  problems: string[],
): void {
  // The price itself is told elsewhere if it is wrong; any other shows whether there is a rate.
  const units = typeof price === 'bigint' && price > 0n ? price : 1n
  const amounts = rates.kind === 'fixed' && convertAll({ token, units, decimals }, accepted, mints, rates.table)
  for (const code of accepted) {
    if (decimalsOf(code, mints) === undefined) {
      if (code !== token)
        problems.push(`mints.${code}: ${code} has no mint on ${read.network}; give its address and decimals`)
    } else if (amounts && amounts[code] === undefined) {
      problems.push(
        `rates.${code}: ${code} is accepted for a price in ${token}, so a rate is needed for both: a table, 'pyth' or 'jupiter'`,
      )
    }
  }
}

/** Zod writes what is left out as undefined. */
function withoutUndefinedParts(bind: z.infer<typeof schema>['bind']): Bind {
  return typeof bind === 'object' ? Object.freeze(withoutUndefined(bind)) : bind
}

/** A keyring as options and environment give it; what is wrong with it joins the problems. */
export function openKeyring(secret: string, problems: string[]): Keyring | undefined {
  const reading = readKeyring(secret)
  if (reading.kind === 'keyring') return reading.keyring
  problems.push(`secret: ${reading.why}; it is written as id:secret,id:secret`)
  return undefined
}

function explain(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const guess = nearest(key, Object.keys(schema.shape))
      return `${[path, key].filter(Boolean).join('.')}: is not an option${guess ? `; did you mean ${guess}?` : ''}`
    })
  }
  if (issue.input === undefined) return [`${path}: is missing`]
  const value = unshown.includes(issue.path[0]) ? undefined : show(issue.input)
  if (value === undefined) return [`${path}: ${issue.message}`]
  if (!issue.message.startsWith('must')) return [`${path}: ${value} ${issue.message}`]
  const { input } = issue
  const choices = issue.code === 'invalid_value' ? issue.values.map(String) : []
  const meant = choices.find((choice) => choice.toLowerCase() === String(input).trim().toLowerCase())
  return [`${path}: ${issue.message}, not ${value}${meant ? `; did you mean "${meant}"?` : ''}`]
}

/** What has no sentence of its own in the schema. */
function describe(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined
  return `must be ${expected === 'string' ? 'text' : expected === 'array' ? 'a list' : 'an object'}`
}

/** A wrong value for its writer to recognise. Of a long text only the beginning: it may be a key that came to the wrong place. */
function show(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value.length > 50 ? `${value.slice(0, 8)}…` : value)
  return typeof value === 'object' || typeof value === 'function' ? undefined : String(value)
}

function withoutUndefined<T extends object>(record: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as never
}

function isLedgerOption(value: unknown): boolean {
  if (typeof value === 'string') return parseLedgerUrl(value) !== undefined
  return typeof value === 'object' && value !== null && 'take' in value
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function isPublicUrl(text: string): boolean {
  if (!isUrl(text)) return false
  const url = new URL(text)
  return url.search === '' && url.hash === '' && url.username === ''
}
