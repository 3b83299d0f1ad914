import { base64urlnopad } from '@scure/base'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { decodeBase64url, encodeBase64url } from './base64url.ts'

describe('base64url', () => {
  it('writes the same text as the library, and reads it back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        const text = encodeBase64url(bytes)
        expect(text).toBe(base64urlnopad.encode(bytes))
        expect(decodeBase64url(text)).toEqual(bytes)
      }),
      { numRuns: size(300, 10_000) },
    )
  })

  it('writes only the first bytes when told so', () => {
    expect(encodeBase64url(Uint8Array.of(1, 2, 3, 4), 2)).toBe(encodeBase64url(Uint8Array.of(1, 2)))
  })

  it.each(['A', 'AB==', 'A+', 'A/', 'A A', 'AB\n', 'QUI', 'ä', 'AAAAA'])(
    'reads %j only if that is how it is written',
    (text) => {
      const bytes = decodeBase64url(text)
      if (bytes) expect(encodeBase64url(bytes)).toBe(text)
      else expect(bytes).toBeUndefined()
    },
  )

  it('reads any letters as the library does', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'AQgwz09-_+/= \nä'), maxLength: 12 })
    const expected = (text: string): Uint8Array | undefined => {
      try {
        return base64urlnopad.decode(text)
      } catch {
        return undefined
      }
    }
    fc.assert(
      fc.property(letters, (text) => {
        expect(decodeBase64url(text)).toEqual(expected(text))
      }),
      { numRuns: size(500, 10_000) },
    )
  })

  it('refuses spellings with stray bits', () => {
    expect(decodeBase64url('QQ')).toEqual(Uint8Array.of(65))
    expect(decodeBase64url('QR')).toBeUndefined()
  })
})
