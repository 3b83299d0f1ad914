/**
 * Encrypted cursors: the position at which a page of the feed ends.
 *
 * A position in the list is a transaction. The feed does not publish transactions, because they reveal the payer, so
 * the cursor is sealed. Its tag is a MAC of the position and also the nonce of the key stream. Equal positions
 * therefore have equal cursors, and a modified cursor is rejected.
 */
import { signatureBytes } from '../../core/encoding/base58.ts'
import { decodeBase64url, encodeBase64url } from '../../core/encoding/base64url.ts'
import { equalBytes, padToBlock, prepareHmac } from '../../core/encoding/hmac.ts'
import type { PaymentListMark } from '../../core/ports/reports.ts'

const tagBytes = 16
const placeBytes = 8 + signatureBytes

/** `key` is `keyring.serviceKey`, the key for the service's own endpoints. */
export function createCursors(key: Uint8Array) {
  const computeMac = (purpose: string) => prepareHmac(key, padToBlock(new TextEncoder().encode(purpose)))
  const [tagOf, streamOf] = [computeMac('cursor tag'), computeMac('cursor stream')]

  /** Encrypts and decrypts: applying it twice restores the input. */
  const veil = (place: Uint8Array, tag: Uint8Array): Uint8Array => {
    const blocks = [0, 1, 2].map((number) => streamOf(Uint8Array.of(...tag, number)))
    return place.map((byte, index) => byte ^ (blocks[index >> 5]?.[index & 31] ?? 0))
  }

  return {
    write: ({ at, tx }: PaymentListMark) => {
      const place = new Uint8Array(placeBytes)
      new DataView(place.buffer).setFloat64(0, at)
      place.set(tx, 8)
      const tag = tagOf(place).slice(0, tagBytes)
      return encodeBase64url(Uint8Array.of(...tag, ...veil(place, tag)))
    },
    /** Returns undefined for a text that this service did not write. */
    read: (text: string) => {
      if (text.length > 200) return undefined
      const bytes = decodeBase64url(text)
      if (bytes?.length !== tagBytes + placeBytes) return undefined
      const tag = bytes.subarray(0, tagBytes)
      const place = veil(bytes.subarray(tagBytes), tag)
      if (!equalBytes(tag, tagOf(place).subarray(0, tagBytes))) return undefined
      return { at: new DataView(place.buffer).getFloat64(0), tx: place.slice(8) }
    },
  }
}

export type Cursors = ReturnType<typeof createCursors>
