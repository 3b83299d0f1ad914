/**
 * Text as databases can keep it. What others name may be any text, and the text of databases has no NUL and no lone
 * surrogates: so it is escaped as in JSON.
 */
import type { FrozenRates } from '../core/ports.ts'

export function formatText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

export function parseText(text: string): string {
  return JSON.parse(`"${text}"`)
}

export function formatRates(rates: FrozenRates | undefined): string | null {
  return rates === undefined ? null : JSON.stringify(rates)
}

export function parseRates(text: string | null): FrozenRates | undefined {
  return text === null ? undefined : JSON.parse(text)
}
