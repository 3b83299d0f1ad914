import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { decodeAddress, decodeSignature, encodeBase58, listSignatureRanges } from './base58.ts'

describe('base58', () => {
  it('gives every signature and address one spelling', () => {
    const bytes = fc
      .tuple(fc.integer({ min: 0, max: 64 }), fc.uint8Array({ minLength: 64, maxLength: 64 }))
      .map(([zeros, all]) => {
        const copy = all.slice()
        copy.fill(0, 0, zeros)
        return copy
      })
    fc.assert(
      fc.property(bytes, (signature) => {
        expect(decodeSignature(encodeBase58(signature))).toEqual(signature)
        const address = signature.slice(0, 32)
        expect(decodeAddress(encodeBase58(address))).toEqual(address)
      }),
      { numRuns: size(200, 5_000) },
    )
  })

  it('finds a signature by any start of its text, and no other one', () => {
    const signature = fc.uint8Array({ minLength: 64, maxLength: 64 }).filter(([first = 0]) => first > 0)
    const isFound = (start: string, bytes: Uint8Array) =>
      listSignatureRanges(start).some(
        ([from, to]) => Buffer.compare(from, bytes) <= 0 && Buffer.compare(bytes, to) <= 0,
      )
    fc.assert(
      fc.property(signature, signature, fc.integer({ min: 1, max: 88 }), (own, other, length) => {
        const start = encodeBase58(own).slice(0, length)
        expect(isFound(start, own)).toBe(true)
        expect(isFound(start, other)).toBe(encodeBase58(other).startsWith(start))
      }),
      { numRuns: size(200, 5_000) },
    )
    expect(['', '0', 'a…b', '1'.repeat(89)].map(listSignatureRanges)).toEqual([[], [], [], []])
  })

  it('T41: a leading 1 is one more byte, not another name for the same payment', () => {
    const text = encodeBase58(new Uint8Array(64).fill(9))
    expect(decodeSignature(text)).toHaveLength(64)
    expect(decodeSignature(`1${text}`)).toBeUndefined()
  })

  it.each(['', '0', 'O'.repeat(44), 'l'.repeat(88), ' '.repeat(64), 'é'.repeat(40)])('refuses %j', (text) => {
    expect(decodeAddress(text)).toBeUndefined()
    expect(decodeSignature(text)).toBeUndefined()
  })
})
