/** One question to a price service over HTTP. What it answers is not trusted, and its address, which may hold a key, not told. */
import { rateQuestionMs } from '../core/money/rate-feed.ts'
import { rateDecimals } from '../core/money/rates.ts'
import type { Get } from '../core/runtime.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Question {
  readonly get: Get
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The JSON object that was answered. Throws with one sentence on anything else. */
export async function askObject({ get, url, headers, signal }: Question): Promise<Json> {
  const { status, text } = await get(url, { timeoutMs: rateQuestionMs, signal, headers })
  if (status === 401 || status === 403) throw new Error(`the source answered ${status}: it wants another API key`)
  if (status === 429) throw new Error('the source answered 429: it was asked too often')
  if (status !== 200) throw new Error(`the source answered ${status}`)
  const answer = parseJson(text)
  if (!isObject(answer)) throw new Error('the source answered with something else than prices')
  return answer
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A decimal number, exactly: `units` times ten to the power of `exponent`. */
export interface Decimal {
  readonly units: bigint
  readonly exponent: number
}

/** What one price is in units of the other, with twelve decimals. Both are above zero. */
export function readWorth(price: Decimal, one: Decimal): bigint {
  const shift = rateDecimals + price.exponent - one.exponent
  const scale = 10n ** BigInt(Math.abs(shift))
  return shift >= 0 ? (price.units * scale) / one.units : price.units / (one.units * scale)
}
