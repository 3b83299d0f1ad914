import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addDecimals,
  compareDecimals,
  computeRatio,
  divideDecimal,
  roundDecimal,
  scaleDecimal,
  subtractDecimal,
} from './decimals.ts'

describe('decimal text', () => {
  it.each([
    [[], '0'],
    [['0.1', '0.2'], '0.3'],
    [['9007199254740993', '0.000000001'], '9007199254740993.000000001'],
    [['1.50', ''], '1.5'],
    [['-0.5', '0.25'], '-0.25'],
  ])('adds %j to %s', (texts, sum) => {
    expect(addDecimals(texts)).toBe(sum)
  })

  it.each([
    ['0.02', '0.0000665', '0.000133', '0.01'],
    ['1', '1', '3', '0.333333333'],
    ['0.02', '0.1', '0.1', '0.02'],
    ['', '1', '2', undefined],
    ['1', '1', '0', undefined],
  ])('scales %s as %s of %s to %s', (text, part, whole, share) => {
    expect(scaleDecimal(text, part, whole)).toBe(share)
  })

  it.each([
    ['0.25', '0.2', '0.05'],
    ['0.2', '0.25', '-0.05'],
    ['1', '-1', '2'],
  ])('takes from %s %s and has %s', (text, other, rest) => {
    expect(subtractDecimal(text, other)).toBe(rest)
  })

  it.each([
    ['2', '10', -1],
    ['0.10', '0.1', 0],
    ['0.1000001', '0.1', 1],
    ['', '0', 0],
    ['-1', '1', -1],
  ])('compares %s with %s: %i', (one, other, order) => {
    expect(compareDecimals(one, other)).toBe(order)
  })

  it.each([
    ['1', 3, '0.333333333'],
    ['2', 3, '0.666666667'],
    ['125.5', 301, '0.416943522'],
    ['1', 0, undefined],
    ['', 2, undefined],
  ])('divides %s by %i: %s', (text, by, result) => {
    expect(divideDecimal(text, by)).toBe(result)
  })

  it.each([
    ['0.005', 2, '0.01'],
    ['0.004', 2, '0'],
    ['-0.005', 2, '-0.01'],
    ['99.999', 2, '100'],
    ['1.5', 2, '1.5'],
  ])('rounds %s to %i places: %s', (text, places, rounded) => {
    expect(roundDecimal(text, places)).toBe(rounded)
  })

  it('has no ratio to nothing', () => {
    expect([computeRatio('1', '0'), computeRatio('1', '4'), computeRatio('3', '2'), computeRatio('', '1')]).toEqual([
      undefined,
      0.25,
      1.5,
      undefined,
    ])
  })

  it('adds and takes away any two amounts without losing a digit', () => {
    const amount = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 0, max: 12 }))
      .map(([units, places]) => {
        const digits = units.toString().padStart(places + 1, '0')
        return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
      })
    fc.assert(
      fc.property(amount, amount, (one, other) => {
        expect(compareDecimals(subtractDecimal(addDecimals([one, other]), other), one)).toBe(0)
      }),
    )
  })
})
