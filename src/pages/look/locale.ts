/**
 * The language of numbers and times. A browser on a minimal system can report a non-standard language (`en-US@posix`),
 * for which `Intl` throws. Then the page uses American English.
 */
import { attempt } from '../../core/errors/attempt.ts'

const fallback = 'en-US'

export function chooseLocale(language: string | undefined): string {
  return attempt(() => Intl.getCanonicalLocales(language ?? fallback)[0] ?? fallback) ?? fallback
}

let last: { readonly language: string | undefined; readonly locale: string } | undefined

/** The language of the browser. */
export function pageLocale(): string {
  const language = globalThis.navigator?.language
  if (last?.language !== language || last === undefined) last = { language, locale: chooseLocale(language) }
  return last.locale
}
