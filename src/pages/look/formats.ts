/** Formats of the browser, each created once: to create one costs ten times as much as to use it. */

const dates = new Map<string, Intl.DateTimeFormat>()
const numbers = new Map<string, Intl.NumberFormat>()
const relatives = new Map<string, Intl.RelativeTimeFormat>()

export function openDateFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${readLocalZone()} ${JSON.stringify(options)}`
  const known = dates.get(key) ?? new Intl.DateTimeFormat(locale, options)
  dates.set(key, known)
  return known
}

/** Tells the zone of the machine, which a traveller changes while the page is open, by its winter and summer. */
function readLocalZone(): string {
  return `${new Date(2026, 0).getTimezoneOffset()} ${new Date(2026, 6).getTimezoneOffset()}`
}

/** Latin digits in every language, so that whole and fraction match. */
export function openNumberFormat(locale: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  const key = `${locale} ${JSON.stringify(options)}`
  const known = numbers.get(key) ?? new Intl.NumberFormat(locale, { numberingSystem: 'latn', ...options })
  numbers.set(key, known)
  return known
}

export function openRelativeFormat(locale: string): Intl.RelativeTimeFormat {
  const known = relatives.get(locale) ?? new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  relatives.set(locale, known)
  return known
}
