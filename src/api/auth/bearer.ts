/**
 * Bearer tokens of sessions and links.
 *
 * A token is 32 random bytes and a tag, so an invented token is rejected without a query to the store. The store and
 * the lists hold the name of a token: a keyed hash, from which the token cannot be recovered.
 */
import { decodeBase64url, encodeBase64url } from '../../core/encoding/base64url.ts'
import { equalBytes, padToBlock, prepareHmac } from '../../core/encoding/hmac.ts'
import { writeNonce } from '../../core/protocol/nonce.ts'

const secretBytes = 32
const tagBytes = 16
const tokenLength = ((secretBytes + tagBytes) / 3) * 4

/** `key` is `keyring.serviceKey`. A token is valid for one purpose only. */
export function createBearers(key: Uint8Array, purpose: string) {
  const computeMac = (part: string) => prepareHmac(key, padToBlock(new TextEncoder().encode(`${purpose} ${part}`)))
  const [tagOf, hashOf] = [computeMac('tag'), computeMac('name')]
  const hashSecret = (secret: Uint8Array) => encodeBase64url(hashOf(secret), tagBytes)
  return {
    make: () => {
      const secret = new Uint8Array(secretBytes)
      writeNonce(secret, 0, secretBytes)
      const token = Uint8Array.of(...secret, ...tagOf(secret).subarray(0, tagBytes))
      return { token: encodeBase64url(token), name: hashSecret(secret) }
    },
    /** The name of a token that this service issued; undefined for any other text. */
    nameOf: (token: string) => {
      const bytes = token.length === tokenLength ? decodeBase64url(token) : undefined
      const secret = bytes?.subarray(0, secretBytes)
      if (!bytes || !secret) return undefined
      return equalBytes(bytes.subarray(secretBytes), tagOf(secret).subarray(0, tagBytes))
        ? hashSecret(secret)
        : undefined
    },
  }
}
