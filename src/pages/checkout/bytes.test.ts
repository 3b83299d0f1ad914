import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import { fromBase64, readSignature, toBase58, toBase64url } from './bytes.ts'
import { pauseAfter } from './polling.ts'

const bytes = fc.uint8Array({ maxLength: 1_300 })

it('bytes are written as the service reads them', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      expect(toBase64url(value)).toBe(encodeBase64url(value))
      expect(fromBase64(Buffer.from(value).toString('base64'))).toEqual(value)
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (value) => {
      expect(toBase58(value)).toBe(encodeBase58(value))
      expect(toBase58(Uint8Array.of(0, 0, ...value))).toBe(encodeBase58(Uint8Array.of(0, 0, ...value)))
    }),
  )
})

it('a transaction is named by its first signature', () => {
  const signature = Uint8Array.from({ length: 64 }, (_, index) => index + 1)
  expect(readSignature(Uint8Array.of(1, ...signature, 9, 9, 9))).toBe(encodeBase58(signature))
})

it('the service is asked often, seldom after two quiet minutes, and less and less while it fails', () => {
  expect([0, 119_999, 120_000, 900_000].map((quiet) => pauseAfter(0, quiet))).toEqual([1_200, 1_200, 5_000, 30_000])
  expect([1, 2, 3, 4, 20].map((failures) => pauseAfter(failures, 0))).toEqual([1_200, 2_400, 4_800, 5_000, 5_000])
})
