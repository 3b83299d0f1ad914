import { describe, expect, it } from 'vitest'
import { formatContentRange, parseContentRange, parseRange } from './content-range.ts'

describe('parseRange', () => {
  it.each([
    ['bytes=0-', { from: 0n, to: 100n }],
    ['bytes=40-', { from: 40n, to: 100n }],
    ['bytes=40-49', { from: 40n, to: 50n }],
    ['bytes=40-400', { from: 40n, to: 100n }],
    ['bytes=-10', { from: 90n, to: 100n }],
    ['bytes=-400', { from: 0n, to: 100n }],
    [undefined, undefined],
    ['', undefined],
    ['bytes=', undefined],
    ['bytes=-', undefined],
    ['bytes=-0', undefined],
    ['bytes=9-8', undefined],
    ['bytes=0-1,5-6', undefined],
    ['bytes = 0-1', undefined],
    ['items=0-1', undefined],
    ['bytes=1e3-', undefined],
    ['bytes=99999999999999999999-', undefined],
  ])('%s', (header, span) => expect(parseRange(header, 100n)).toEqual(span))

  it('leaves a range beyond the end to the resource', () => {
    expect(parseRange('bytes=100-', 100n)).toBeUndefined()
    expect(parseRange('bytes=200-300', 100n)?.from).toBe(200n)
  })
})

describe('parseContentRange', () => {
  it.each([
    ['bytes 0-99/100', { from: 0n, to: 100n, size: 100n }],
    ['bytes 5-5/*', { from: 5n, to: 6n, size: undefined }],
    ['bytes 5-4/10', undefined],
    ['bytes 5-10/10', undefined],
    ['bytes */10', undefined],
    ['bytes=5-6/10', undefined],
    [undefined, undefined],
  ])('%s', (header, range) => expect(parseContentRange(header)).toEqual(range))

  it('reads the output of formatContentRange', () => {
    for (const header of ['bytes 0-0/1', 'bytes 7-9/*', 'bytes 100-199/200']) {
      const range = parseContentRange(header)
      expect(range && formatContentRange(range)).toBe(header)
    }
  })
})
