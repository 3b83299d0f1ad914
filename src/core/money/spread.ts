/**
 * What is charged on top for paying in another token than the price is in.
 *
 * A quote holds for minutes while rates move. Somebody who collects quotes and pays in whichever token fell would win
 * what the provider loses; the spread is the fee for that option.
 */
import { maxUnits } from './money.ts'
import { millionths } from './rate-feed.ts'
import type { Amount, RateTable } from './rates.ts'
import { convert } from './rates.ts'
import type { Amounts, MintTable, TokenCode } from './tokens.ts'
import { findDecimals } from './tokens.ts'

const million = 1_000_000n

/** As `convert`, with the spread on top, rounded up; the token the price is in stays exact. */
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

/** As `convertAll`, with the spread on top of the other tokens. */
export function spreadAll(
  from: Amount,
  tokens: readonly TokenCode[],
  mints: MintTable,
  rates: RateTable,
  spread: number,
): Amounts {
  const amounts: Partial<Record<TokenCode, bigint>> = {}
  for (const token of tokens) {
    const decimals = findDecimals(token, mints)
    const units = decimals === undefined ? undefined : convertWithSpread(from, { token, decimals }, rates, spread)
    if (units !== undefined) amounts[token] = units
  }
  return amounts
}
