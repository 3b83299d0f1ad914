import fc from 'fast-check'
import { expect, it } from 'vitest'
import { size } from '../../tests/harness/length.ts'
import { encodeBase64url } from '../core/encoding/base64url.ts'
import { createEncoder } from './base64url.ts'

it('writes the same text as the core, for any offset of the bytes', () => {
  const encode = createEncoder()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(20), fc.nat(100), (bytes, offset, length) => {
      const room = new Uint8Array(bytes.length + offset)
      room.set(bytes, offset)
      const part = room.subarray(offset)
      const used = Math.min(length, part.length)
      expect(encode(part, used)).toBe(encodeBase64url(bytes, used))
    }),
    { numRuns: size(200, 5_000) },
  )
})
