/**
 * Text as databases can keep it. What others name may be any text, and the text of databases has no NUL and no lone
 * surrogates: so it is escaped as in JSON.
 */
import type { FrozenRates } from '../core/money/rates.ts'

export function formatText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

export function parseText(text: string): string {
  return JSON.parse(`"${text}"`)
}

/** Many payments share the rates of one moment. */
const written = new WeakMap<FrozenRates, string>()

export function formatRates(rates: FrozenRates | undefined): string | null {
  if (rates === undefined) return null
  const text = written.get(rates) ?? JSON.stringify(rates)
  written.set(rates, text)
  return text
}

export function parseRates(text: string | null): FrozenRates | undefined {
  return text === null ? undefined : JSON.parse(text)
}
