import { describe, expect, it } from 'vitest'
import { type RefusalCode, refusals } from '../../payment/refusals.ts'
import { en } from './en.ts'
import { fill } from './fill.ts'
import { chooseLanguage, languages } from './language.ts'

const parts = ['checkout', 'page'] as const
const placeholders = (text: string): readonly string[] => [...new Set(text.match(/\{\w+\}/g))].sort()

describe.each(Object.entries(languages))('the texts in %s', (name, { texts }) => {
  it.each(parts)('are complete in the part %s, with the same placeholders', (part) => {
    const [own, english]: readonly Readonly<Record<string, string>>[] = [texts[part], en[part]]
    expect(Object.keys(own ?? {}).sort()).toEqual(Object.keys(english ?? {}).sort())
    for (const [key, text] of Object.entries(own ?? {})) {
      expect([key, placeholders(text)]).toEqual([key, placeholders(english?.[key] ?? '')])
      expect(text.trim()).toBe(text)
      expect(text).not.toBe('')
    }
  })

  it('are translated: few are the same as in English', () => {
    const keys = parts.flatMap((part) => Object.entries(texts[part]).map(([key, text]) => [part, key, text] as const))
    const same = keys.filter(([part, key, text]) => (en[part] as Readonly<Record<string, string>>)[key] === text)
    expect(same.length).toBe(name === 'en' ? keys.length : Math.min(same.length, 6))
  })
})

describe('the language of a browser', () => {
  it.each([
    [undefined, 'en', 'en-US'],
    ['', 'en', 'en-US'],
    ['de', 'de', 'de'],
    ['de-CH,de;q=0.9,en;q=0.8', 'de', 'de-CH'],
    ['fr-FR,fr;q=0.9,es-MX;q=0.8,en;q=0.7', 'es', 'es-MX'],
    ['en;q=0.5, ja;q=0.9', 'ja', 'ja'],
    ['zh-TW,zh;q=0.9', 'zh-Hans', 'zh-TW'],
    ['DE-at', 'de', 'de-AT'],
    ['de;q=0, es', 'es', 'es'],
    ['*', 'en', 'en-US'],
    ['fr, *;q=0.1', 'en', 'en-US'],
    ['de-u-nu-arab', 'de', 'de'],
    ['en-US@posix', 'en', 'en-US'],
    ['de-1-2-3-4', 'de', 'de'],
    ['constructor, __proto__, de;q=0.1', 'de', 'de'],
    ['<script>,de;q=x', 'en', 'en-US'],
    [`${'x,'.repeat(300)}de`, 'en', 'en-US'],
  ])('%s is %s, with the numbers of %s', (header, tag, locale) => {
    const chosen = chooseLanguage(header)
    expect([chosen.tag, chosen.locale]).toEqual([tag, locale])
  })
})

it('has the reasons of refused payments under their codes, in the words of the protocol', () => {
  const texts: Readonly<Record<string, string>> = en.page
  const codes = Object.keys(refusals).filter((code) => code in texts) as RefusalCode[]
  expect(codes).toHaveLength(7)
  expect(codes.map((code) => texts[code])).toEqual(codes.map((code) => refusals[code].title))
})

it('fills placeholders once, whatever the values contain', () => {
  expect(fill('{a} and {b}, {a}', { a: '{b}', b: '$&' })).toBe('{b} and $&, {b}')
  expect(fill('{missing}', {})).toBe('')
})
