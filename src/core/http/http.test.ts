import fc from 'fast-check'
import { expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { asciiJson, formatHeaderLines } from './http.ts'

it('asciiJson writes the same value in ASCII', () => {
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.webUrl())
  fc.assert(
    fc.property(fc.oneof(texts, fc.record({ text: texts, list: fc.array(texts) })), (value) => {
      const json = asciiJson(value)
      expect(Buffer.from(json).length).toBe(json.length)
      expect(JSON.parse(json)).toEqual(value)
    }),
    { numRuns: size(300, 10_000) },
  )
})

it('header lines follow each other', () => {
  const pairs = [
    ['A', 'b "c" ~'],
    ['D', ''],
  ] as const
  expect(formatHeaderLines(pairs)).toBe('A: b "c" ~\r\nD: \r\n')
})

it.each(['a\r\nSet-Cookie: b', 'a\n', '\r', '\0', '\x7f', 'ü', '世'])('no header line has the value %j', (value) => {
  expect(formatHeaderLines([['A', value]])).toBeUndefined()
})
