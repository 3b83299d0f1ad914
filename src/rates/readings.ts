/** Validates the answer of a source, which can be a provider's own code and return anything. */
import { isFields } from '../core/encoding/fields.ts'
import type { RateReading, RateRefusal } from '../core/money/rate-feed.ts'
import { isTokenCode, type TokenCode } from '../core/money/tokens.ts'

export type Readings = ReadonlyMap<TokenCode, RateReading | RateRefusal>

/** Readings by token. Names that are not codes of tokens are left out. Throws if the answer is not a list. */
export function readReadings(answer: unknown): Readings {
  if (!Array.isArray(answer)) throw new Error('the source did not return a list of readings')
  const readings = new Map<TokenCode, RateReading | RateRefusal>()
  for (const entry of answer) {
    if (!isFields(entry)) throw new Error('the source returned a list with other values than readings')
    const { token } = entry
    if (!isTokenCode(token)) continue
    readings.set(
      token,
      readings.has(token) ? { token, why: 'the source returned two rates for this token' } : readOne(token, entry),
    )
  }
  return readings
}

function readOne(token: TokenCode, entry: Readonly<Record<string, unknown>>): RateReading | RateRefusal {
  const { rate, at, average, why } = entry
  if (typeof why === 'string') return { token, why }
  if (!isRate(rate) || !(average === undefined || isRate(average)) || !(at === undefined || typeof at === 'number'))
    return { token, why: 'the source returned a reading that is not { token, rate, at }' }
  return { token, rate, ...(at !== undefined && { at }), ...(average !== undefined && { average }) }
}

function isRate(value: unknown): value is bigint | string {
  return typeof value === 'bigint' || typeof value === 'string'
}
