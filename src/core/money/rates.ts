/**
 * Converts a price into the other accepted tokens. A rate is the value of one whole token in USDC, as decimal text.
 */
import { formatUnits, maxUnits, parseDecimal } from './money.ts'
import { type ByToken, findDecimals, listTokens, type MintTable, type TokenCode } from './tokens.ts'

export type RateTable = ByToken<string>

export type TokenDecimals = ByToken<number>

/** Rates as stored in the ledger. They apply from `at` until the next rates of the same feed. */
export interface JournaledRates {
  readonly table: RateTable
  /** The source of the rates: `fixed`, `pyth`, `jupiter` or `own`. */
  readonly source: string
  /** Names the use of the rates and the settings of their source: `prices/pyth-…`. */
  readonly feed: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The rates that value a payment: those in force at its block time. */
export interface FrozenRates extends Omit<JournaledRates, 'feed'> {
  /** Undefined if the rates come from no journal. */
  readonly feed?: string
  /** Decimals of the tokens in the table and of the paid token, needed to read an amount. */
  readonly decimals: TokenDecimals
}

/** Test tokens have no value, so any fixed rate is sufficient. */
export const testRates: RateTable = { NATIVE: '0.1', USDC: '1', SOL: '150' }

/** Rates are counted in units of 10⁻¹² USDC. */
export const rateDecimals = 12

/** Reads a rate in units of 10⁻¹². Returns undefined if the text is not a usable rate. */
export function parseRate(text: string): bigint | undefined {
  const rate = parseDecimal(text, rateDecimals)
  return rate !== undefined && rate > 0n ? rate : undefined
}

export interface Amount {
  readonly token: TokenCode
  readonly units: bigint
  readonly decimals: number
}

/** Converts to the same value in another token. It rounds up by less than one base unit, so no price becomes zero. */
export function convert(from: Amount, to: Omit<Amount, 'units'>, rates: RateTable): bigint | undefined {
  if (from.token === to.token) return from.units
  const fromRate = parseRate(rates[from.token] ?? '')
  const toRate = parseRate(rates[to.token] ?? '')
  if (fromRate === undefined || toRate === undefined) return undefined
  const worth = from.units * fromRate * 10n ** BigInt(to.decimals)
  const one = toRate * 10n ** BigInt(from.decimals)
  const units = (worth + one - 1n) / one
  return units <= maxUnits ? units : undefined
}

/**
 * Like `convert`, but rounded down: the value for the recipient. Undefined unless both tokens have rates and decimals.
 */
export function fairUnits(
  { token, units }: Pick<Amount, 'token' | 'units'>,
  into: TokenCode,
  { rates, decimals }: { readonly rates: RateTable; readonly decimals: TokenDecimals },
): bigint | undefined {
  const [from, to] = [parseRate(rates[token] ?? ''), parseRate(rates[into] ?? '')]
  const [fromPlaces, toPlaces] = [decimals[token], decimals[into]]
  if (from === undefined || to === undefined || fromPlaces === undefined || toPlaces === undefined) return undefined
  return (units * from * 10n ** BigInt(toPlaces)) / (to * 10n ** BigInt(fromPlaces))
}

/**
 * The approximate value of an amount in US dollars, as decimal text: cents, or two significant digits below ten cents.
 * It accompanies the amount and never replaces it. Undefined without a rate.
 */
export function estimateDollars({ token, units, decimals }: Amount, rates: RateTable): string | undefined {
  const rate = parseRate(rates[token] ?? '')
  if (rate === undefined) return undefined
  const worth = (units * rate) / 10n ** BigInt(decimals)
  const dropped = Math.min(Math.max(worth.toString().length - 2, 0), rateDecimals - 2)
  const unit = 10n ** BigInt(dropped)
  const rounded = ((worth + unit / 2n) / unit) * unit
  return rounded === 0n ? undefined : formatUnits(rounded, rateDecimals)
}

/** Whether a table has a rate for each of these tokens. */
export function hasRates(table: RateTable, tokens: readonly TokenCode[]): boolean {
  return tokens.every((token) => parseRate(table[token] ?? '') !== undefined)
}

/** Decimals of all tokens that exist on a network. */
export function decimalsIn(mints: MintTable): TokenDecimals {
  return Object.fromEntries(
    listTokens(mints).flatMap((token) => {
      const decimals = findDecimals(token, mints)
      return decimals === undefined ? [] : [[token, decimals]]
    }),
  )
}
