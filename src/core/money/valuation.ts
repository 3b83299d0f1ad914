/**
 * Values a payment in the report token, by the rates at its block time. The unit is finer than any token's, so that
 * sums of many small payments lose nothing.
 */
import { type Amount, parseRate, type RateTable } from './rates.ts'
import type { TokenCode } from './tokens.ts'

/** Values are counted in units of 10⁻¹² of the report token. */
export const worthDecimals = 12

/** A trillion of the report token. A larger value can only come from a wrong rate. */
export const largestWorth = 10n ** BigInt(12 + worthDecimals)

/** Undefined unless both tokens have a rate. Fractions of the smallest unit are dropped. */
export function computeValue(amount: Amount, report: TokenCode, rates: RateTable): bigint | undefined {
  const worth = reckon(amount, report, rates)
  return worth !== undefined && worth <= largestWorth ? worth : undefined
}

function reckon({ token, units, decimals }: Amount, report: TokenCode, rates: RateTable): bigint | undefined {
  const scaled = units * 10n ** BigInt(worthDecimals)
  const whole = 10n ** BigInt(decimals)
  if (token === report) return scaled / whole
  const [rate, reportRate] = [parseRate(rates[token] ?? ''), parseRate(rates[report] ?? '')]
  return rate === undefined || reportRate === undefined ? undefined : (scaled * rate) / (whole * reportRate)
}
