/**
 * The language of numbers and times. A browser on a minimal system can report a non-standard language (`en-US@posix`),
 * for which `Intl` throws. Then the page uses American English.
 */
import { attempt } from '../../core/errors/attempt.ts'

const fallback = 'en-US'

export function chooseLocale(language: string | undefined): string {
  return attempt(() => Intl.getCanonicalLocales(language ?? fallback)[0] ?? fallback) ?? fallback
}

/** The language of the browser. */
export function pageLocale(): string {
  return chooseLocale(globalThis.navigator?.language)
}
