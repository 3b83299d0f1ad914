import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fuzzRuns, size } from '../../../tests/harness/length.ts'
import { formatDecimal, formatNumber, formatUnits, maxUnits, parseUnits } from './money.ts'

describe('parseUnits', () => {
  it.each([
    ['0', 6, 0n],
    ['1', 6, 1_000_000n],
    ['0.01', 6, 10_000n],
    ['0.000001', 6, 1n],
    ['1.50', 6, 1_500_000n],
    ['7', 0, 7n],
    ['9999999999999999999', 0, 9_999_999_999_999_999_999n],
    ['18446744073.709551615', 9, maxUnits],
  ] as const)('reads %s with %i decimals', (text, decimals, units) => {
    expect(parseUnits(text, decimals)).toBe(units)
  })

  it.each([
    '1e-7',
    '0x10',
    '1,5',
    '-1',
    'NaN',
    'Infinity',
    '',
    ' 12 ',
    '１',
    '1_0',
    '00.1',
    '+1',
    '.5',
    '5.',
    '1.0000001',
    '٣',
    '1n',
    '20000000000000000000',
    '18446744073709.551616',
    '1\n',
    '\u00001',
  ])('T47: refuses %j', (text) => {
    expect(parseUnits(text, 6)).toBeUndefined()
  })

  it('T50: keeps every digit of 64 bits and refuses the 65th', () => {
    expect(parseUnits('9007199254740993', 0)).toBe(9007199254740993n)
    expect(parseUnits('18446744073.709551616', 9)).toBeUndefined()
    expect(parseUnits('10000000000000000000', 0)).toBeUndefined()
  })

  it('reads its own output', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: maxUnits }), fc.integer({ min: 1, max: 18 }), (units, decimals) => {
        const text = formatUnits(units, decimals)
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
        expect(parseUnits(text, decimals)).toBe(units)
      }),
      { numRuns: fuzzRuns },
    )
  })

  it('accepts exactly the plain decimals, for any input', () => {
    const piece = fc.constantFrom('0', '1', '9', '.', '-', '+', 'e', 'x', ' ', ',', '_', '٣', '１', '\n', '')
    const anyText = fc.oneof(fc.string({ unit: piece, maxLength: 24 }), fc.string(), fc.double().map(String))
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 9 }), (text, decimals) => {
        const plain =
          decimals === 0 ? /^(0|[1-9]\d{0,18})$/ : new RegExp(`^(0|[1-9]\\d{0,18})(\\.\\d{1,${decimals}})?$`)
        const units = parseUnits(text, decimals)
        if (!plain.test(text)) expect(units).toBeUndefined()
        else {
          const [whole = '', fraction = ''] = text.split('.')
          const expected = BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0') || '0')
          expect(units).toBe(expected > maxUnits ? undefined : expected)
        }
      }),
      { numRuns: fuzzRuns },
    )
  })
})

describe('formatNumber', () => {
  it.each([
    [1e-7, '0.0000001'],
    [1.5e-9, '0.0000000015'],
    [0.07, '0.07'],
    [1.005, '1.005'],
    [1e21, '1000000000000000000000'],
    [1.25e22, '12500000000000000000000'],
    [123, '123'],
    [-0.5, '-0.5'],
    [-1e-7, '-0.0000001'],
  ])('T48: writes %d as %s', (value, text) => {
    expect(formatNumber(value)).toBe(text)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('has no text for %d', (value) => {
    expect(formatNumber(value)).toBeUndefined()
  })

  it('names the same number again', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e30 }), (value) => {
        const text = formatNumber(value) ?? ''
        expect(text).toMatch(/^\d+(\.\d+)?$/)
        expect(Number(text)).toBe(value)
      }),
      { numRuns: size(300, 10_000) },
    )
  })
})

it.each([
  ['0.001', 'en-US', 0, '0.001'],
  ['999', 'en-US', 0, '999'],
  ['1000', 'en-US', 0, '1,000'],
  ['1000', 'en-US', 2, '1,000.00'],
  ['-12345', 'en-US', 0, '\u221212,345'],
  ['18446744073709551615.123456789', 'en-US', 0, '18,446,744,073,709,551,615.123456789'],
  ['1234567.125', 'de-DE', 0, '1.234.567,125'],
  ['12345.5', 'es-MX', 0, '12,345.5'],
  ['1234.5', 'ar-EG-u-nu-arab', 0, '1,234.5'],
  ['', 'en-US', 2, ''],
  ['1e5', 'en-US', 2, '1e5'],
])('writes %s for people of %s, at least %i places, as %s', (decimal, locale, places, shown) => {
  expect(formatDecimal(decimal, locale, places).replace(/[\u200e\u200f\u061c]/g, '')).toBe(shown)
})

it('keeps every digit of an amount for people', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: maxUnits }), fc.integer({ min: 0, max: 18 }), (units, decimals) => {
      const plain = formatUnits(units, decimals)
      expect(formatDecimal(plain, 'en-US').replaceAll(',', '')).toBe(plain)
    }),
  )
})
