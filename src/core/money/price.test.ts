import { describe, expect, it } from 'vitest'
import { readPrice } from './price.ts'

describe('readPrice', () => {
  it.each([
    [0.01, 10_000n],
    ['0.01', 10_000n],
    [1, 1_000_000n],
    [1e-6, 1n],
    [0.07, 70_000n],
    [123_456_789.123456, 123_456_789_123_456n],
    ['18446744073709.551615', 18_446_744_073_709_551_615n],
  ])('T48: reads %s USDC exactly', (price, units) => {
    expect(readPrice(price, 'USDC', 6)).toEqual({ kind: 'price', units })
  })

  it.each([
    [1e-7, 'has more decimals than USDC (6); round it'],
    ['0.0000001', 'has more decimals than USDC (6); round it'],
    [0, 'more than zero'],
    ['0.000', 'more than zero'],
    [-1, 'more than zero'],
    [Number.NaN, 'plain decimal'],
    [Number.POSITIVE_INFINITY, 'plain decimal'],
    ['1,5', 'plain decimal'],
    ['', 'plain decimal'],
    ['1e-3', 'plain decimal'],
    [undefined, 'a number or decimal text'],
    [null, 'a number or decimal text'],
    [1n, 'a number or decimal text'],
    ['20000000000000', 'can express'],
    [18_446_744_073_709.55, 'more digits than a number keeps'],
  ])('T49, T50: refuses %s with a reason', (price, reason) => {
    expect(readPrice(price, 'USDC', 6)).toEqual({ kind: 'problem', why: expect.stringContaining(reason) })
  })
})
