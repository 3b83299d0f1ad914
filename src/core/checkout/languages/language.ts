/** The language of the pages for people: the first one that the browser prefers and that has texts. */
import { attempt } from '../../errors/attempt.ts'
import type { Incoming } from '../../http/http.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'
import { es } from './es.ts'
import { ja } from './ja.ts'
import { zh } from './zh.ts'

export interface Language {
  /** The language of the texts, for the attribute `lang`. */
  readonly tag: string
  /** The region's way to write numbers and times: `de-CH`. */
  readonly locale: string
  readonly texts: Texts
}

/** By the first part of a language tag. */
export const languages: Readonly<Record<string, { readonly tag: string; readonly texts: Texts }>> = {
  en: { tag: 'en', texts: en },
  de: { tag: 'de', texts: de },
  es: { tag: 'es', texts: es },
  ja: { tag: 'ja', texts: ja },
  zh: { tag: 'zh-Hans', texts: zh },
}

export const english: Language = { tag: 'en', locale: 'en-US', texts: en }

/** A longer header comes from no browser. */
const longestHeader = 500

/** The language of a request. */
export function readLanguage({ header }: Pick<Incoming, 'header'>): Language {
  return chooseLanguage(header('accept-language'))
}

/** Reads `Accept-Language`. English, if it names no language of the pages. */
export function chooseLanguage(header: string | undefined): Language {
  if (header === undefined || header.length > longestHeader) return english
  const wanted = header.split(',').flatMap(readRange)
  // Sorting is stable: among equal preferences, the first counts.
  for (const { range } of wanted.toSorted((one, other) => other.weight - one.weight)) {
    const [primary = ''] = range.toLowerCase().split('-', 1)
    const found = Object.hasOwn(languages, primary) ? languages[primary] : undefined
    if (found) return { ...found, locale: readLocale(range) ?? primary }
  }
  return english
}

function readRange(text: string): readonly { readonly range: string; readonly weight: number }[] {
  const [, range, weight = '1'] = /^\s*([a-z0-9-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i.exec(text) ?? []
  return range === undefined || Number(weight) === 0 ? [] : [{ range, weight: Number(weight) }]
}

/** Only language and region: extensions could change the digits or the calendar. */
function readLocale(range: string): string | undefined {
  return attempt(() => {
    const { language, region } = new Intl.Locale(range)
    return region === undefined ? language : `${language}-${region}`
  })
}
