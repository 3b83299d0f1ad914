/** The entries of the palette: screens, endpoints and payments, found by parts of their names. */
import { signal } from '@preact/signals'

export const isPaletteOpen = signal(false)

export interface Entry {
  readonly name: string
  /** The kind of the target: a screen, an endpoint or a saved view. */
  readonly kind: string
  readonly href: string
}

const mostShown = 12

/** All words of the text must occur. Names that start with the text come first; others keep their order. */
export function findEntries(entries: readonly Entry[], text: string): readonly Entry[] {
  const words = text.trim().toLowerCase().split(/\s+/)
  const found = entries.filter(({ name, kind }) => {
    const own = `${name} ${kind}`.toLowerCase()
    return words.every((word) => own.includes(word))
  })
  const isFirst = ({ name }: Entry) => name.toLowerCase().startsWith(text.trim().toLowerCase())
  return [...found.filter(isFirst), ...found.filter((entry) => !isFirst(entry))].slice(0, mostShown)
}

/** Whether a text can be the id, the transaction, the requestId or the payer of a payment, or a part of it. */
export function isPaymentName(text: string): boolean {
  return /^[\w-]{4,256}$|^[\w-]{4,128}(?:…|\.\.\.)[\w-]{0,128}$/.test(text.trim())
}
