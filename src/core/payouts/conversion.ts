/**
 * What is converted into the settlement token, when, and for how much at the least.
 *
 * A venue may be slow, wrong or hostile, and a price may have moved since it was asked. So what comes is bounded twice: by
 * the quote less the slippage that is allowed, and by what the rate source says the money is worth.
 */
import { maxUnits } from '../money/money.ts'
import type { RateTable, TokenDecimals } from '../money/rates.ts'
import { convert, fairUnits } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'
import { tokenCodes } from '../money/tokens.ts'

/** All of it, in hundredths of a percent. */
const wholeBps = 10_000n

export interface ConversionLimits {
  /** How much less than quoted may come, in hundredths of a percent. */
  readonly slippageBps: number
  /** How much worse than the rate source a quote may be, in hundredths of a percent. */
  readonly maxDeviationBps: number
}

export const usualConversionLimits: ConversionLimits = { slippageBps: 50, maxDeviationBps: 200 }

export interface ConversionRules extends ConversionLimits {
  readonly settlementToken: TokenCode
  /** Which tokens are converted: those that are sold for. Others in the wallet are somebody's business. */
  readonly tokens: readonly TokenCode[]
  /** From how much on a token is converted, in its base units; by default the worth of ten USDC. */
  readonly thresholds: Readonly<Partial<Record<TokenCode, bigint>>>
  /** What is left in the wallet. */
  readonly keeps: Readonly<Partial<Record<TokenCode, bigint>>>
}

/** 0.05 SOL: some thousand fees, or the rent of two dozen token accounts. */
export const usualSolKept = 50_000_000n
const usualThreshold = { token: 'USDC', units: 10_000_000n, decimals: 6 } as const

export interface Conversion {
  readonly token: TokenCode
  /** All that the wallet has of it, but for what is kept. */
  readonly units: bigint
}

export interface ConversionScene {
  readonly balances: Readonly<Partial<Record<TokenCode, bigint>>>
  /** Fresh rates only: without one a token is not converted. */
  readonly rates: RateTable
  readonly decimals: TokenDecimals
  /** Tokens of which a conversion is under way. */
  readonly underway: ReadonlySet<TokenCode>
}

/** What is to be converted now, in the order of the tokens. */
export function dueConversions(rules: ConversionRules, scene: ConversionScene): readonly Conversion[] {
  const { settlementToken, tokens, keeps } = rules
  const { balances, decimals, underway } = scene
  return tokenCodes.flatMap((token): Conversion[] => {
    const places = decimals[token]
    if (token === settlementToken || !tokens.includes(token) || underway.has(token) || places === undefined) return []
    const units = (balances[token] ?? 0n) - (keeps[token] ?? 0n)
    const threshold = readThreshold(rules, token, scene)
    if (threshold === undefined || units <= 0n || units > maxUnits || units < threshold) return []
    return fairUnits({ token, units }, settlementToken, scene) === undefined ? [] : [{ token, units }]
  })
}

/** From how much on a token is converted; undefined without a fresh rate where nothing was said. */
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
  /** `minimum` is what has to come at the least. */
  { readonly kind: 'fair'; readonly minimum: bigint } | { readonly kind: 'unfair'; readonly why: string }

/** Judges a quote: what is to come, and the least that the venue promises, against what the rate source says. */
export function judgeQuote(
  quote: { readonly units: bigint; readonly least: bigint },
  fair: bigint | undefined,
  { slippageBps, maxDeviationBps }: ConversionLimits,
): ConversionPricing {
  if (fair === undefined) return { kind: 'unfair', why: 'there is no fresh rate to compare it with' }
  const { units, least } = quote
  if (fair <= 0n || units <= 0n) return { kind: 'unfair', why: 'it is worth less than one base unit' }
  if (units * wholeBps < fair * (wholeBps - BigInt(maxDeviationBps))) {
    const short = ((fair - units) * wholeBps) / fair
    return {
      kind: 'unfair',
      why: `it is ${short / 100n}.${(short % 100n).toString().padStart(2, '0')} % worse than the rate`,
    }
  }
  const minimum = minimumOf(units, slippageBps)
  if (least < minimum) return { kind: 'unfair', why: 'the venue promises less than the slippage allows' }
  return { kind: 'fair', minimum }
}

/** So much less than quoted, but never nothing. */
function minimumOf(quoted: bigint, slippageBps: number): bigint {
  const units = (quoted * (wholeBps - BigInt(slippageBps))) / wholeBps
  return units > 0n ? units : 1n
}

/** What a conversion is about, as it stands beside its dispatch. */
export interface ConversionAbout {
  readonly wallet: string
  readonly sell: TokenCode
  readonly buy: TokenCode
  readonly venue: string
  /** What is sold. */
  readonly units: bigint
  /** What was quoted, and what had to come at the least; of the last bytes that were signed. */
  readonly quoted: bigint
  readonly minimum: bigint
  /** What really left and came, read from the chain; undefined before it landed. */
  readonly sold?: bigint
  readonly received?: bigint
}

const amounts = ['units', 'quoted', 'minimum', 'sold', 'received'] as const

export function formatConversion(about: ConversionAbout): string {
  return JSON.stringify(about, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Undefined for what `formatConversion` did not write. */
export function parseConversion(text: string): ConversionAbout | undefined {
  let read: Record<string, unknown>
  try {
    read = JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
  if (typeof read !== 'object' || read === null) return undefined
  const { wallet, sell, buy, venue } = read
  if (typeof wallet !== 'string' || typeof venue !== 'string') return undefined
  const tokens: readonly unknown[] = tokenCodes
  if (!tokens.includes(sell) || !tokens.includes(buy)) return undefined
  const units: Partial<Record<(typeof amounts)[number], bigint>> = {}
  for (const name of amounts) {
    const value = read[name]
    if (value === undefined && (name === 'sold' || name === 'received')) continue
    // What was sold or received may be negative where other money moved in the same transaction.
    if (typeof value !== 'string' || !/^-?\d{1,30}$/.test(value)) return undefined
    units[name] = BigInt(value)
  }
  const about = { wallet, sell: sell as TokenCode, buy: buy as TokenCode, venue }
  return { ...about, ...(units as Pick<ConversionAbout, 'units' | 'quoted' | 'minimum'>) }
}

/** Of one wallet and token one conversion is under way at a time. */
export function conversionLane(wallet: string, token: TokenCode): string {
  return `convert/${wallet}/${token}`
}

/** Under what the names begin by which a worker shows on the shelf that it converts what a wallet receives. */
export function settlementBeats(wallet: string): string {
  return `worker/settlement/${wallet}/`
}
