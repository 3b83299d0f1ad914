import fc from 'fast-check'
import { expect, it } from 'vitest'
import { asciiJson } from './http.ts'

it('asciiJson writes the same value in ASCII', () => {
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.webUrl())
  fc.assert(
    fc.property(fc.oneof(texts, fc.record({ text: texts, list: fc.array(texts) })), (value) => {
      const json = asciiJson(value)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what ASCII is.
      expect(json).toMatch(/^[\x00-\x7f]*$/)
      expect(JSON.parse(json)).toEqual(value)
    }),
    { numRuns: 10_000 },
  )
})
