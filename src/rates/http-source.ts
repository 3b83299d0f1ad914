/**
 * Sends one request to a price service over HTTP. Its response is not trusted. Its address is not revealed, because it
 * can contain a key.
 */
import { type Fields, parseFields } from '../core/encoding/fields.ts'
import { rateQuestionMs } from '../core/money/rate-feed.ts'
import { rateDecimals } from '../core/money/rates.ts'
import type { Get } from '../core/runtime.ts'

export interface Question {
  readonly get: Get
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Returns the JSON object of the response. Throws one sentence for any other content. */
export async function askObject({ get, url, headers, signal }: Question): Promise<Fields> {
  const { status, text } = await get(url, { timeoutMs: rateQuestionMs, signal, headers })
  if (status === 401 || status === 403) throw new Error(`the source returned ${status}: the API key is invalid`)
  if (status === 429) throw new Error('the source returned 429: too many requests')
  if (status !== 200) throw new Error(`the source returned ${status}`)
  const answer = parseFields(text)
  if (!answer) throw new Error('the source did not return prices')
  return answer
}

/** An exact decimal number: `units` times ten to the power of `exponent`. */
export interface Decimal {
  readonly units: bigint
  readonly exponent: number
}

/** Divides one price by the other, with twelve decimals. Both must be above zero. */
export function readWorth(price: Decimal, one: Decimal): bigint {
  const shift = rateDecimals + price.exponent - one.exponent
  const scale = 10n ** BigInt(Math.abs(shift))
  return shift >= 0 ? (price.units * scale) / one.units : price.units / (one.units * scale)
}
