/**
 * Encrypts signed transactions that are stored while they can still land. AES-256-GCM with a random iv. The subject is
 * authenticated too, so that the bytes of one transaction cannot replace those of another.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from '../../core/encoding/base64url.ts'
import type { Sealer } from '../../core/payouts/ports/outgoing.ts'

const algorithm = 'aes-256-gcm'
const version = 1
const ivBytes = 12
const tagBytes = 16
const headBytes = 1 + ivBytes
const publicTagBytes = 6

/** `key` is 32 bytes: the keyring's `outgoingKey`. */
export function createSealer(key: Uint8Array): Sealer {
  return {
    tag: encodeBase64url(createHmac('sha256', key).update('public tag').digest().subarray(0, publicTagBytes)),
    seal(bytes, about) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes }).setAAD(saidAbout(about))
      const sealed = [cipher.update(bytes), cipher.final()]
      return Buffer.concat([Uint8Array.of(version), iv, ...sealed, cipher.getAuthTag()]).toString('base64url')
    },
    open(text, about) {
      const sealed = decodeBase64url(text)
      if (sealed?.[0] !== version || sealed.length < headBytes + tagBytes) return undefined
      const end = sealed.length - tagBytes
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(1, headBytes), { authTagLength: tagBytes })
        .setAAD(saidAbout(about))
        .setAuthTag(sealed.subarray(end))
      try {
        return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(headBytes, end)), decipher.final()]))
      } catch {
        return undefined
      }
    },
  }
}

function saidAbout(about: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(version), Buffer.from(about, 'utf8')])
}
