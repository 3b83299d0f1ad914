/**
 * The surcharge for payment in a token other than the price's.
 *
 * A quote is valid for minutes while rates move. Without a surcharge, a client could collect quotes, pay in the token
 * that fell, and gain at the provider's cost. The spread is the fee for that option.
 */
import { maxUnits } from './money.ts'
import { millionths } from './rate-feed.ts'
import { type Amount, convert, type RateTable } from './rates.ts'
import { type Amounts, findDecimals, type MintTable, type TokenCode } from './tokens.ts'

const million = 1_000_000n

/** Like `convert`, plus the spread, rounded up. The amount in the price's own token stays exact. */
export function convertWithSpread(
  from: Amount,
  to: Omit<Amount, 'units'>,
  rates: RateTable,
  spread: number,
): bigint | undefined {
  const units = convert(from, to, rates)
  if (units === undefined || from.token === to.token) return units
  const more = (units * (million + millionths(spread)) + million - 1n) / million
  return more <= maxUnits ? more : undefined
}

/** Converts to the same value, plus the spread, in each token that has a rate. */
export function convertAll(
  from: Amount,
  tokens: readonly TokenCode[],
  mints: MintTable,
  rates: RateTable,
  spread = 0,
): Amounts {
  const amounts: Record<string, bigint> = {}
  for (const token of tokens) {
    const decimals = findDecimals(token, mints)
    const units = decimals === undefined ? undefined : convertWithSpread(from, { token, decimals }, rates, spread)
    if (units !== undefined) amounts[token] = units
  }
  return amounts
}
