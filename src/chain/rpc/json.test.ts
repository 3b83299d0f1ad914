import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson, readAddress, readCount, readDigits, readList, readU64 } from './json.ts'

describe('parseJson', () => {
  it('reads the same values as JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const text = JSON.stringify(value)
        if (/\d{16}/.test(text)) return
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    ['{"a":9007199254740993}', { a: '9007199254740993' }],
    ['[18446744073709551615,1]', ['18446744073709551615', 1]],
    ['["9007199254740993"]', ['9007199254740993']],
    ['["say \\"9007199254740993\\", then 9007199254740993"]', ['say "9007199254740993", then 9007199254740993']],
    ['{"9007199254740993":-1}', { '9007199254740993': -1 }],
    ['[1.00000000000000001,1e1000000000000000]', [1, Number.POSITIVE_INFINITY]],
    ['{"a": 9007199254740993, "b":[ 9007199254740993\n]}', { a: '9007199254740993', b: ['9007199254740993'] }],
    ['["\\\\",9007199254740993]', ['\\', '9007199254740993']],
    [
      '{"rentEpoch":18446744073709551615,"lamports":9007199254740993}',
      { rentEpoch: '18446744073709551615', lamports: '9007199254740993' },
    ],
  ])('keeps long whole numbers: %s', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  it.each(['', '{', '<html>', '{"a":9007199254740993', '[1,]'])('gives nothing for %j', (text) => {
    expect(parseJson(text)).toBeUndefined()
  })

  it('T132: takes linear time on text that is no JSON, and on long strings that are', () => {
    const hostile = `"${'\\"'.repeat(250_000)}${'1'.repeat(20)}`
    const start = performance.now()
    expect(parseJson(hostile)).toBeUndefined()
    expect(parseJson(`[${hostile}"]`)).toHaveLength(1)
    expect(performance.now() - start).toBeLessThan(500)
  })
})

describe('numbers', () => {
  it.each([
    [0, 0n],
    [Number.MAX_SAFE_INTEGER, 9_007_199_254_740_991n],
    ['18446744073709551615', 18_446_744_073_709_551_615n],
    ['18446744073709551616', undefined],
    ['9007199254740993', 9_007_199_254_740_993n],
    // A short text is text: a node that quotes its balances is not speaking the protocol.
    ['5', undefined],
    [2 ** 53, undefined],
    [-1, undefined],
    [0.5, undefined],
    [Number.NaN, undefined],
    [null, undefined],
    [true, undefined],
  ])('readU64(%j)', (value, expected) => {
    expect(readU64(value)).toBe(expected)
  })

  it.each([
    ['0', 0n],
    ['18446744073709551615', 18_446_744_073_709_551_615n],
    ['18446744073709551616', undefined],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    [' 1', undefined],
    ['１', undefined],
    [1, undefined],
  ])('readDigits(%j)', (value, expected) => {
    expect(readDigits(value)).toBe(expected)
  })

  it.each([
    [3, 3],
    [-1, undefined],
    [1.5, undefined],
    ['3', undefined],
    [2 ** 53, undefined],
  ])('readCount(%j)', (value, expected) => {
    expect(readCount(value)).toBe(expected)
  })
})

it('readList gives all or nothing', () => {
  expect(readList([1, 2], readCount)).toEqual([1, 2])
  expect(readList([1, -2], readCount)).toBeUndefined()
  expect(readList({ length: 0 }, readCount)).toBeUndefined()
})

it('readAddress goes by the look', () => {
  expect(readAddress('1'.repeat(32))).toBe('1'.repeat(32))
  for (const bad of ['1'.repeat(31), '1'.repeat(45), '0'.repeat(40), 7, null]) expect(readAddress(bad)).toBeUndefined()
})
