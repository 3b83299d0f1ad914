import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { indentJson } from './json-text.ts'

describe('JSON for people', () => {
  it.each([
    ['{"a":1,"b":[true,null]}', '{\n  "a": 1,\n  "b": [\n    true,\n    null\n  ]\n}'],
    ['{ "a" : {} , "b":[ ] }', '{\n  "a": {},\n  "b": []\n}'],
    ['[]', '[]'],
    [' 12345678901234567890.10 ', '12345678901234567890.10'],
    ['{"n":12345678901234567890}', '{\n  "n": 12345678901234567890\n}'],
    ['"a, {b}: \\"c\\" \\u003c"', '"a, {b}: \\"c\\" \\u003c"'],
    ['null', 'null'],
  ])('writes %s line by line', (text, shown) => {
    expect(indentJson(text)).toBe(shown)
  })

  it.each(['', 'x', '{"a":1', '{"a":1}}', '<p>', "{'a':1}"])('does not write %s, which is none', (text) => {
    expect(indentJson(text)).toBeUndefined()
  })

  it('keeps every value, and differs from the text by space only', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const shown = indentJson(text) ?? ''
        expect(shown).toBe(JSON.stringify(JSON.parse(text), null, 2).replace(/^-?0$/, shown))
        expect(JSON.parse(shown)).toEqual(JSON.parse(text))
      }),
    )
  })
})
