/**
 * Decides which tokens are converted into the settlement token, when, and for which minimum amount.
 *
 * A venue can be slow, wrong or hostile, and the price can move after the quote. The received amount therefore has two
 * lower bounds: the quote less the allowed slippage, and the value by the rate source.
 */
import { parseFields } from '../encoding/fields.ts'
import { maxUnits } from '../money/money.ts'
import { convert, fairUnits, type RateTable, type TokenDecimals } from '../money/rates.ts'
import { type ByToken, isKnownCode, isTokenCode, knownCodes, type TokenCode } from '../money/tokens.ts'

/** 100 %, in hundredths of a percent. */
const wholeBps = 10_000n

export interface ConversionLimits {
  /** The allowed loss against the quote, in hundredths of a percent. */
  readonly slippageBps: number
  /** The allowed loss of a quote against the rate source, in hundredths of a percent. */
  readonly maxDeviationBps: number
}

export const usualConversionLimits: ConversionLimits = { slippageBps: 50, maxDeviationBps: 200 }

export interface ConversionRules extends ConversionLimits {
  readonly settlementToken: TokenCode
  /** The converted tokens: those in which the service sells. Other tokens in the wallet are left alone. */
  readonly tokens: readonly TokenCode[]
  /** The balance above which a token is converted, in its base units. The default is the value of ten USDC. */
  readonly thresholds: ByToken<bigint>
  /** The balance that stays in the wallet. */
  readonly keeps: ByToken<bigint>
}

/** 0.05 SOL: several thousand fees, or the rent of two dozen token accounts. */
export const usualSolKept = 50_000_000n
const usualThreshold = { token: 'USDC', units: 10_000_000n, decimals: 6 } as const

export interface Conversion {
  readonly token: TokenCode
  /** The whole balance of the wallet, except the kept part. */
  readonly units: bigint
}

export interface ConversionScene {
  readonly balances: ByToken<bigint>
  /** Fresh rates only. A token without one is not converted. */
  readonly rates: RateTable
  readonly decimals: TokenDecimals
  /** Tokens with a conversion under way. */
  readonly underway: ReadonlySet<TokenCode>
}

/** Lists the conversions that are due, in the order of the tokens. */
export function dueConversions(rules: ConversionRules, scene: ConversionScene): readonly Conversion[] {
  const { settlementToken, tokens, keeps } = rules
  const { balances, decimals, underway } = scene
  return [...tokens].sort(compareCodes).flatMap((token): Conversion[] => {
    const places = decimals[token]
    if (token === settlementToken || underway.has(token) || places === undefined) return []
    const units = (balances[token] ?? 0n) - (keeps[token] ?? 0n)
    const threshold = readThreshold(rules, token, scene)
    if (threshold === undefined || units <= 0n || units > maxUnits || units < threshold) return []
    return fairUnits({ token, units }, settlementToken, scene) === undefined ? [] : [{ token, units }]
  })
}

/** The known codes first, in their fixed order. */
function compareCodes(one: TokenCode, other: TokenCode): number {
  const rank = (code: TokenCode) => (isKnownCode(code) ? knownCodes.indexOf(code) : knownCodes.length)
  return rank(one) - rank(other) || (one < other ? -1 : 1)
}

/** The balance above which a token is converted. Undefined if none is configured and no fresh rate exists. */
export function readThreshold(
  { thresholds }: Pick<ConversionRules, 'thresholds'>,
  token: TokenCode,
  { rates, decimals }: Pick<ConversionScene, 'rates' | 'decimals'>,
): bigint | undefined {
  const places = decimals[token]
  return (
    thresholds[token] ??
    (places === undefined ? undefined : convert(usualThreshold, { token, decimals: places }, rates))
  )
}

export type ConversionPricing =
  /** `minimum` is the smallest amount that must arrive. */
  { readonly kind: 'fair'; readonly minimum: bigint } | { readonly kind: 'unfair'; readonly why: string }

/** Checks a quote: compares the quoted amount and the venue's guaranteed minimum with the value by the rate source. */
export function judgeQuote(
  quote: { readonly units: bigint; readonly least: bigint },
  fair: bigint | undefined,
  { slippageBps, maxDeviationBps }: ConversionLimits,
): ConversionPricing {
  if (fair === undefined) return { kind: 'unfair', why: 'no current rate is available for comparison' }
  const { units, least } = quote
  if (fair <= 0n || units <= 0n) return { kind: 'unfair', why: 'the amount is worth less than one base unit' }
  if (units * wholeBps < fair * (wholeBps - BigInt(maxDeviationBps))) {
    const short = ((fair - units) * wholeBps) / fair
    return {
      kind: 'unfair',
      why: `the quote is ${short / 100n}.${(short % 100n).toString().padStart(2, '0')} % worse than the rate`,
    }
  }
  const minimum = minimumOf(units, slippageBps)
  if (least < minimum) return { kind: 'unfair', why: "the venue's minimum is below the allowed slippage" }
  return { kind: 'fair', minimum }
}

/** The quoted amount less the slippage, but at least one base unit. */
function minimumOf(quoted: bigint, slippageBps: number): bigint {
  const units = (quoted * (wholeBps - BigInt(slippageBps))) / wholeBps
  return units > 0n ? units : 1n
}

/** The details of a conversion, stored with its outgoing transaction. */
export interface ConversionAbout {
  readonly wallet: string
  readonly sell: TokenCode
  readonly buy: TokenCode
  readonly venue: string
  /** The amount sold. */
  readonly units: bigint
  /** The quoted amount and the minimum, as of the last signed transaction. */
  readonly quoted: bigint
  readonly minimum: bigint
  /** The amounts that actually left and arrived, read from the chain. Undefined before the transaction landed. */
  readonly sold?: bigint
  readonly received?: bigint
}

const amounts = ['units', 'quoted', 'minimum', 'sold', 'received'] as const

export function formatConversion(about: ConversionAbout): string {
  return JSON.stringify(about, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Undefined for text that `formatConversion` did not write. */
export function parseConversion(text: string): ConversionAbout | undefined {
  const read = parseFields(text)
  if (!read) return undefined
  const { wallet, sell, buy, venue } = read
  if (typeof wallet !== 'string' || typeof venue !== 'string') return undefined
  if (!isTokenCode(sell) || !isTokenCode(buy)) return undefined
  const units: Partial<Record<(typeof amounts)[number], bigint>> = {}
  for (const name of amounts) {
    const value = read[name]
    if (value === undefined && (name === 'sold' || name === 'received')) continue
    // The sold or received amount can be negative if other money moved in the same transaction.
    if (typeof value !== 'string' || !/^-?\d{1,30}$/.test(value)) return undefined
    units[name] = BigInt(value)
  }
  const about = { wallet, sell, buy, venue }
  return { ...about, ...(units as Pick<ConversionAbout, 'units' | 'quoted' | 'minimum'>) }
}

/** At most one conversion per wallet and token is under way. */
export function formatConversionLockKey(wallet: string, token: TokenCode): string {
  return `convert/${wallet}/${token}`
}

/** Prefix of the keys under which a worker announces in the key-value store that it converts a wallet's income. */
export function settlementBeats(wallet: string): string {
  return `worker/settlement/${wallet}/`
}
