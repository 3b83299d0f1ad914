/** Numbers for people. Amounts keep every digit unless the caller rounds, and never pass through a float. */
import { formatDecimal } from '../../core/money/money.ts'
import { compareDecimals, countPlaces, roundDecimal } from './decimals.ts'
import { openNumberFormat } from './formats.ts'

export function formatCount(count: number, locale: string): string {
  return openNumberFormat(locale).format(count)
}

/** All digits, grouped by thousands, at least two places. An empty text is an unknown amount. */
export function formatAmount(text: string, locale: string, leastPlaces = 2): string {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? formatDecimal(text, locale, leastPlaces) : '–'
}

/** For headlines: two places, or as many as three significant digits need. */
export function formatRounded(text: string, locale: string): string {
  return formatAmount(roundDecimal(text, choosePlaces(text)), locale)
}

/** For a column: `formatRounded` with the same number of places for all amounts, so that their decimal points align. */
export function createColumnFormat(texts: readonly string[], locale: string): (text: string) => string {
  const places = Math.max(2, ...texts.map((text) => countPlaces(roundDecimal(text, choosePlaces(text)))))
  return (text) => formatAmount(roundDecimal(text, places), locale, places)
}

function choosePlaces(text: string): number {
  const fraction = /^-?0\.(0*)[1-9]/.exec(text)?.[1]
  return fraction === undefined ? 2 : Math.max(2, fraction.length + 3)
}

/** `0.1234` is 12.3%, `0.1` is 10%, and `0.0001` is <0.1%. */
export function formatShare(share: number | undefined, locale: string): string {
  if (share === undefined) return '–'
  if (share > 0 && share < 0.0005) return `<${formatPercent(0.001, locale)}`
  return formatPercent(share, locale, Math.abs(share) > 9.99 ? 0 : 1)
}

/** A share with the sign and the space of its language. Zeros at the end are left out. */
export function formatPercent(share: number, locale: string, maximumFractionDigits = 4): string {
  return openNumberFormat(locale, { style: 'percent', maximumFractionDigits }).format(share)
}

export type Change =
  | { readonly kind: 'none' }
  /** The previous value is zero, so there is no percentage. */
  | { readonly kind: 'new' }
  | { readonly kind: 'up' | 'down' | 'same'; readonly text: string }

/** Larger changes are not compared. */
const mostRatio = 10

/** The change of an amount or a count against its previous value. */
export function compareAmounts(current: string, previous: string | undefined, locale: string): Change {
  if (previous === undefined) return { kind: 'none' }
  const [isNow, was] = [compareDecimals(current, '0') !== 0, compareDecimals(previous, '0') !== 0]
  // A loss has no percentage.
  if (compareDecimals(previous, '0') < 0 || (!was && compareDecimals(current, '0') < 0)) return { kind: 'none' }
  if (!was) return isNow ? { kind: 'new' } : { kind: 'same', text: formatShare(0, locale) }
  const ratio = Number(current) / Number(previous) - 1
  // More digits would say more about the small base than about the change.
  if (ratio > mostRatio) return { kind: 'up', text: `over ${formatPercent(mostRatio, locale)}` }
  return signed(ratio, (value) => formatShare(value > 9.99 ? Math.round(value) : round(value), locale))
}

/** The change of a share, in percentage points. */
export function compareShares(current: number | undefined, previous: number | undefined, locale: string): Change {
  if (current === undefined || previous === undefined) return { kind: 'none' }
  const points = (value: number) => `${openNumberFormat(locale, { maximumFractionDigits: 1 }).format(value * 100)} pp`
  return signed(current - previous, points)
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000

function signed(value: number, write: (value: number) => string): Change {
  if (Math.abs(value) < 0.0005) return { kind: 'same', text: write(0) }
  return { kind: value > 0 ? 'up' : 'down', text: write(Math.abs(value)) }
}

/** The two ends of a long name, which are the parts that people compare. */
export function shorten(text: string, head = 6, tail = 4): string {
  return text.length <= head + tail + 3 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`
}
