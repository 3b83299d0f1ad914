import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson, stringifyJson } from './json.ts'

const rounded = (_key: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)

describe('JSON with whole integers', () => {
  it('writes and reads 64 bits without loss', () => {
    const value = { rentEpoch: 18446744073709551615n, small: 5, list: [9007199254740993n, 'x', null, true] }
    const text = stringifyJson(value)
    expect(text).toBe('{"rentEpoch":18446744073709551615,"small":5,"list":[9007199254740993,"x",null,true]}')
    expect(parseJson(text)).toEqual(value)
  })

  it('leaves digits in strings alone, quotes and backslashes included', () => {
    const tricky =
      '{"a":"12345678901234567890","b\\"12345678901234567890":"\\\\12345678901234567890","c":[12345678901234567890]}'
    expect(parseJson(tricky)).toEqual({
      a: '12345678901234567890',
      'b"12345678901234567890': '\\12345678901234567890',
      c: [12345678901234567890n],
    })
  })

  it('reads everything else as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const read = parseJson(`[1234567890123456,${text}]`)
        // Rounded as JSON.parse rounds, there is no difference left.
        expect(JSON.parse(JSON.stringify(read, rounded))).toEqual([1234567890123456, JSON.parse(text)])
      }),
    )
  })

  it.each(['', '{', '[1,]', '{"a":12345678901234567890', '12345678901234567890x', 'NaN'])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })

  it('omits undefined values', () => {
    expect(stringifyJson({ a: undefined, b: 1 })).toBe('{"b":1}')
  })
})
