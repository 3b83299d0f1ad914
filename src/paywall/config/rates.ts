/** Reads the option `rates`: a fixed table, or a source that is polled, with its limits. */

import { nearest } from '../../core/errors/suggest.ts'
import { isHttpUrl } from '../../core/http/http.ts'
import { formatNumber, isExactNumber } from '../../core/money/money.ts'
import { type FeedIds, type RateLimits, type RateSource, usualRateLimits } from '../../core/money/rate-feed.ts'
import { parseRate, type RateTable, testRates } from '../../core/money/rates.ts'
import { type ByToken, listTokens, type MintTable, type Network, type TokenCode } from '../../core/money/tokens.ts'

/** The accepted values of the option. */
export type RatesOption =
  | ByToken<string | number>
  | RateSourceName
  | RateSource['read']
  | (RateSource & Partial<RateLimits>)
  | PythOption
  | JupiterOption
  | (Partial<RateLimits> & { readonly source: RateSource | RateSource['read'] })
export type RateSourceName = 'pyth' | 'jupiter'

export interface PythOption extends Partial<RateLimits> {
  readonly source: 'pyth'
  /** Ids of price feeds in dollars: 64 hex digits. Only SOL and USDC have a default. */
  readonly feeds?: FeedIds
  /** The address of Hermes. */
  readonly url?: string
  readonly apiKey?: string | undefined
}

export interface JupiterOption extends Partial<RateLimits> {
  readonly source: 'jupiter'
  readonly url?: string
  readonly apiKey?: string | undefined
}

/** Without `url`, the source uses its own default. */
export type RatesConfig =
  | { readonly kind: 'fixed'; readonly table: RateTable }
  | (PriceService & { readonly kind: 'pyth'; readonly feeds: FeedIds })
  | (PriceService & { readonly kind: 'jupiter' })
  | { readonly kind: 'own'; readonly source: RateSource; readonly limits: RateLimits }

interface PriceService {
  readonly url: string | undefined
  readonly apiKey: string | undefined
  readonly limits: RateLimits
}

type Given = Readonly<Record<string, unknown>>

const sourceNames: readonly RateSourceName[] = ['pyth', 'jupiter']
const whatItIs = `must be a table such as { SOL: '150.25' }, 'pyth', 'jupiter', or a source with its limits`

/** Reads the option. Problems are added to the list, without keys. */
export function readRatesOption(option: unknown, network: Network, mints: MintTable, problems: string[]): RatesConfig {
  return Object.freeze(read(option, network, listTokens(mints), problems))
}

function read(option: unknown, network: Network, codes: readonly TokenCode[], problems: string[]): RatesConfig {
  if (option === undefined) return readTable({}, network, codes, problems)
  if (isName(option) || typeof option === 'function') return readSource(option, {}, codes, problems)
  if (typeof option === 'string') {
    const guess = nearest(option, sourceNames)
    problems.push(`rates: ${whatItIs}${guess ? `; did you mean '${guess}'?` : ''}`)
  } else if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    problems.push(`rates: ${whatItIs}`)
  } else if ('source' in option) {
    const { source, ...rest } = option as Given
    return readSource(source, rest, codes, problems)
  } else if ('read' in option) {
    // Passes the object itself, so that its method keeps its `this`.
    const { read: _read, ...rest } = option as Given
    return readSource(option, rest, codes, problems)
  } else {
    return readTable(option as Given, network, codes, problems)
  }
  return readTable({}, network, codes, [])
}

function readTable(given: Given, network: Network, codes: readonly TokenCode[], problems: string[]): RatesConfig {
  const table: Record<string, string> = { ...(network === 'mainnet' ? { USDC: '1' } : testRates) }
  for (const [code, rate] of entries(given, codes, ['source', 'read'], 'rates', problems)) {
    const text = typeof rate === 'number' ? exactText(rate) : rate
    const parsed = typeof text === 'string' ? parseRate(text) : undefined
    if (code === 'USDC' && parsed !== undefined && parsed !== parseRate('1'))
      problems.push('rates.USDC: is always 1, because rates are in USDC; remove it')
    else if (typeof text === 'string' && parsed !== undefined) table[code] = text
    else problems.push(`rates.${code}: must be a decimal above zero, such as "150.25"; with many digits, in quotes`)
  }
  return { kind: 'fixed', table: Object.freeze(table) }
}

/** The decimal text of a number, if it is unambiguous. */
function exactText(value: number): string | undefined {
  const text = formatNumber(value)
  return text !== undefined && isExactNumber(text) ? text : undefined
}

const limitNames = Object.keys(usualRateLimits) as (keyof RateLimits)[]

function readSource(source: unknown, given: Given, codes: readonly TokenCode[], problems: string[]): RatesConfig {
  const own = readOwn(source)
  const extras = own ? [] : source === 'jupiter' ? ['url', 'apiKey'] : ['url', 'apiKey', 'feeds']
  const options: Given = Object.fromEntries(entries(given, [...limitNames, ...extras], [], 'rates', problems))
  const limits = readLimits(options, problems)
  if (own) return { kind: 'own', source: own, limits }
  if (!isName(source)) {
    const guess = typeof source === 'string' ? nearest(source, sourceNames) : undefined
    problems.push(
      `rates.source: must be 'pyth', 'jupiter', a function or { read() }${guess ? `; did you mean '${guess}'?` : ''}`,
    )
  }
  const service: PriceService = {
    url: readUrl(options['url'], problems),
    apiKey: readKey(options['apiKey'], problems),
    limits,
  }
  if (source === 'jupiter') return { kind: 'jupiter', ...service }
  return { kind: 'pyth', ...service, feeds: readFeeds(options['feeds'], codes, problems) }
}

function isName(value: unknown): value is RateSourceName {
  return sourceNames.includes(value as RateSourceName)
}

/** A source that is passed to several routes stays one source. */
const ownSources = new WeakMap<object, RateSource>()

function readOwn(source: unknown): RateSource | undefined {
  if ((typeof source !== 'object' && typeof source !== 'function') || source === null) return undefined
  const read = typeof source === 'function' ? source : 'read' in source ? source.read : undefined
  if (typeof read !== 'function') return undefined
  const own = ownSources.get(source) ?? Object.freeze({ read: (read as RateSource['read']).bind(source) })
  ownSources.set(source, own)
  return own
}

const limitRules: Readonly<Record<keyof RateLimits, readonly [least: number, most: number]>> = {
  refreshSeconds: [1, 3600],
  maxAgeSeconds: [5, 86_400],
  maxJump: [0.001, 0.9],
  jumpHoldSeconds: [1, 86_400],
  spread: [0, 0.5],
}

function readLimits(options: Given, problems: string[]): RateLimits {
  const limits: Record<keyof RateLimits, number> = { ...usualRateLimits }
  const before = problems.length
  for (const name of limitNames) {
    const value = options[name]
    if (value === undefined) continue
    const [least, most] = limitRules[name]
    if (typeof value === 'number' && value >= least && value <= most) limits[name] = value
    else problems.push(`rates.${name}: must be a number from ${least} to ${most}`)
  }
  // Otherwise every token would expire between two polls.
  if (problems.length === before && limits.maxAgeSeconds <= limits.refreshSeconds)
    problems.push(`rates.maxAgeSeconds: must be more than refreshSeconds, which is ${limits.refreshSeconds}`)
  return Object.freeze(limits)
}

function readUrl(url: unknown, problems: string[]): string | undefined {
  if (url === undefined) return undefined
  if (typeof url === 'string' && isHttpUrl(url)) return url
  problems.push('rates.url: must be an http or https URL')
  return undefined
}

function readKey(key: unknown, problems: string[]): string | undefined {
  if (key === undefined) return undefined
  if (typeof key === 'string' && /^[\x21-\x7e]{1,1024}$/.test(key)) return key
  problems.push('rates.apiKey: must be printable characters without spaces')
  return undefined
}

function readFeeds(given: unknown, codes: readonly TokenCode[], problems: string[]): FeedIds {
  const feeds: Record<string, string> = {}
  if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given))) {
    problems.push(`rates.feeds: must be ids of price feeds by token: { ${codes.join(', ')} }`)
    return feeds
  }
  for (const [code, id] of entries((given ?? {}) as Given, codes, [], 'rates.feeds', problems)) {
    if (typeof id === 'string' && /^(0x)?[0-9a-f]{64}$/i.test(id)) feeds[code] = id
    else problems.push(`rates.feeds.${code}: must be the id of a price feed, 64 hex digits`)
  }
  return Object.freeze(feeds)
}

/** The values of known names. Other names are problems, with the nearest known name as a suggestion. */
function entries(
  given: Given,
  known: readonly string[],
  alsoMeant: readonly string[],
  path: string,
  problems: string[],
): readonly (readonly [string, unknown])[] {
  return Object.entries(given).filter(([key, value]) => {
    if (known.includes(key)) return value !== undefined
    const guess = nearest(key, [...known, ...alsoMeant])
    problems.push(`${path}.${key}: is not an option${guess ? `; did you mean ${guess}?` : ''}`)
    return false
  })
}
