import { sha256 } from '@noble/hashes/sha2.js'
import { expect, it } from 'vitest'
import { encodeBase64url } from '../encoding/base64url.ts'
import { createPseudonyms } from './pseudonyms.ts'

const wallet = new Uint8Array(32).fill(7)
const [ours, others] = [1, 2].map((byte) => createPseudonyms(new Uint8Array(32).fill(byte)))

it('T134: cannot be computed without the key, so known wallets cannot be looked up', () => {
  const name = ours?.wallet(wallet) ?? ''
  expect(name).toHaveLength(22)
  expect(name).toBe(ours?.wallet(wallet.slice()))
  expect(name).not.toBe(others?.wallet(wallet))
  expect(name).not.toBe(encodeBase64url(sha256(wallet), 16))
})

it('T134: a wallet and a requestId of the same bytes have different names', () => {
  const text = 'a'.repeat(32)
  expect(ours?.wallet(new TextEncoder().encode(text))).not.toBe(ours?.request(text))
})
