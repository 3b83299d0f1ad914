import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { decodeBase64, decodeBase64urlPadded, encodeBase64, prepareBase64 } from './base64.ts'

const names = { standard: 'base64', url: 'base64url' } as const
const ascii = (maxLength: number) =>
  fc.string({ unit: fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code)), maxLength })
const alphabets = fc.constantFrom('standard', 'url')

describe('base64 of ASCII text', () => {
  it('equals that of Buffer', () => {
    fc.assert(
      fc.property(ascii(200), alphabets, (text, alphabet) => {
        expect(encodeBase64(text, alphabet)).toBe(Buffer.from(text).toString(names[alphabet]))
      }),
      { numRuns: size(200, 5_000) },
    )
  })

  it('equals that of Buffer if the constant parts were encoded before, for values of all lengths', () => {
    const parts = fc
      .array(fc.tuple(ascii(12), fc.array(ascii(9), { minLength: 3, maxLength: 3 })), { maxLength: 5 })
      .chain((rows) => fc.record({ first: ascii(12), rows: fc.constant(rows) }))
    fc.assert(
      fc.property(parts, alphabets, ({ first, rows }, alphabet) => {
        const constants = [first, ...rows.map(([constant]) => constant)]
        const encode = prepareBase64(constants, alphabet)
        for (const turn of [0, 1, 2, 0]) {
          const values = rows.map(([, choices]) => choices[turn] ?? '')
          const text = first + rows.map(([constant], index) => `${values[index]}${constant}`).join('')
          expect(encode(values)).toBe(Buffer.from(text).toString(names[alphabet]))
        }
      }),
      { numRuns: size(300, 10_000) },
    )
  })

  it('has these bytes', () => {
    const encode = prepareBase64(['{"a":"', '","b":"', '"}'], 'standard')
    expect(encode(['1', '?>~'])).toBe('eyJhIjoiMSIsImIiOiI/Pn4ifQ==')
    expect(encode(['12', '?>~'])).toBe('eyJhIjoiMTIiLCJiIjoiPz5+In0=')
    expect(prepareBase64(['{"a":"', '"}'], 'url')(['??>'])).toBe('eyJhIjoiPz8-In0')
  })
})

describe('decoding base64', () => {
  it('reads what Buffer writes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const buffer = Buffer.from(bytes)
        expect(decodeBase64(buffer.toString('base64'))).toEqual(bytes)
        expect(decodeBase64urlPadded(buffer.toString('base64url'))).toEqual(bytes)
        const padded = buffer.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
        expect(decodeBase64urlPadded(padded)).toEqual(bytes)
      }),
    )
  })

  it.each(['QQ', 'QQ=', 'QR==', 'Q-==', 'QQ==\n', ' QQ==', 'Q,==', '====', 'Q', 'QQ==QQ==', 'ä'])(
    'refuses %j as standard base64',
    (text) => {
      expect(decodeBase64(text)).toBeUndefined()
    },
  )

  it.each(['QQ=', 'QR', 'Q+', 'Q/', 'QQ==\n', ' QQ', 'Q', 'QQ===', 'ä'])('refuses %j as URL-safe base64', (text) => {
    expect(decodeBase64urlPadded(text)).toBeUndefined()
  })
})
