/**
 * What a payment is worth in the token of the reports, by the rates of its moment. Kept finer than any token, so that
 * sums of many small payments lose nothing.
 */
import type { Amount, RateTable } from './rates.ts'
import { parseRate } from './rates.ts'
import type { TokenCode } from './tokens.ts'

/** Worth is counted in units of 10⁻¹² of the report token. */
export const worthDecimals = 12

/** A trillion of the report token. What seems to be worth more was reckoned by a rate that is wrong. */
export const largestWorth = 10n ** BigInt(12 + worthDecimals)

/** Undefined without a rate for both. What is left over below the smallest unit is dropped. */
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
