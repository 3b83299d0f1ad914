/**
 * The language in which numbers and times are written. A browser on a bare machine may name one that no standard knows
 * (`en-US@posix`), and `Intl` throws at it: then it is American English.
 */
const fallback = 'en-US'

export function chooseLocale(language: string | undefined): string {
  try {
    return Intl.getCanonicalLocales(language ?? fallback)[0] ?? fallback
  } catch {
    return fallback
  }
}

/** That of the browser. */
export function pageLocale(): string {
  return chooseLocale(globalThis.navigator?.language)
}

/** For code of others that hands the browser's language to `Intl` as it is: makes it one that `Intl` takes. */
export function mendLanguage(navigator: { readonly language: string }): void {
  const locale = chooseLocale(navigator.language)
  if (locale !== navigator.language)
    Object.defineProperty(navigator, 'language', { get: () => locale, configurable: true })
}
