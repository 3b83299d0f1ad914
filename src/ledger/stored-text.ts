/**
 * Text as databases can store it. Clients may send any text, but databases accept no NUL and no lone surrogates, so
 * these are escaped as in JSON.
 */
import type { FrozenRates } from '../core/money/rates.ts'
import type { SplitPart } from '../core/payment/splits.ts'

export function formatText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

export function parseText(text: string): string {
  return JSON.parse(`"${text}"`)
}

/** A cache, because many payments share the same frozen rates. */
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

/** `wallet:units` of each part. */
export function formatParts(parts: readonly SplitPart[] | undefined): string | null {
  return parts === undefined ? null : parts.map(({ recipient, units }) => `${recipient}:${units}`).join(' ')
}

/** The member `splits` of a payment, if it has one. */
export function parseParts(text: string | null): { readonly splits?: readonly SplitPart[] } {
  if (text === null) return {}
  const pairs = text.split(' ').map((part) => part.split(':'))
  return { splits: pairs.map(([recipient = '', units = '']) => ({ recipient, units: BigInt(units) })) }
}
