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

/** The parts of a payment that belong to other wallets, if it has any. */
interface StoredParts {
  readonly splits?: readonly SplitPart[]
  readonly isCollected?: boolean
}

const collectedMark = 'collected '

/** `wallet:units` of each part, after a mark if the recipient collected them. */
export function formatParts({ splits, isCollected }: StoredParts): string | null {
  if (splits === undefined) return null
  return (isCollected ? collectedMark : '') + splits.map(({ recipient, units }) => `${recipient}:${units}`).join(' ')
}

export function parseParts(text: string | null): StoredParts {
  if (text === null) return {}
  const isCollected = text.startsWith(collectedMark)
  const pairs = text.slice(isCollected ? collectedMark.length : 0).split(' ')
  const splits = pairs
    .map((pair) => pair.split(':'))
    .map(([recipient = '', units = '']) => ({ recipient, units: BigInt(units) }))
  return { splits, ...(isCollected && { isCollected }) }
}
