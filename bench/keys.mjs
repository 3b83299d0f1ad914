// Random Solana keys.
import { generateKeyPairSync } from 'node:crypto'
import { encodeBase58 } from '../dist/core/encoding/base58.js'

/** The 64 bytes of a new key. */
export function createKey() {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return Uint8Array.from([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}

/** @param {Uint8Array} key */
export function readAddress(key) {
  return encodeBase58(key.slice(32))
}

export function createAddress() {
  return readAddress(createKey())
}
