/** Ed25519: the signatures of transactions, and the localnet's own keys. */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { decodeKey } from '../accounts/account.ts'
import type { Transaction } from './wire.ts'

const publicHead = Buffer.from('302a300506032b6570032100', 'hex')
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex')

export function createKeypair(secret: Uint8Array) {
  const key = createPrivateKey({ key: Buffer.concat([privateHead, secret]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return {
    address: encodeBase58(spki.subarray(publicHead.length)),
    secret,
    sign: (message: Uint8Array) => sign(null, message, key),
  }
}

export type Keypair = ReturnType<typeof createKeypair>

export function newSecret(): Uint8Array {
  return randomBytes(32)
}

/** Whether every signer has signed. */
export function signaturesHold({ message, signatures }: Transaction): boolean {
  return signatures.every((signature, index) => {
    const address = message.keys[index] ?? ''
    if (isWeak(decodeKey(address)) || isWeak(signature.subarray(0, 32))) return false
    const key = publicKey(address)
    return key !== undefined && verify(null, message.bytes, key, signature)
  })
}

/**
 * Points of small order, without the sign bit. With such a key, one signature is valid for many messages. Validators
 * therefore refuse them as key and as nonce; OpenSSL does not.
 */
const weakPoints: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

function isWeak(point: Uint8Array): boolean {
  const unsigned = Buffer.from(point)
  unsigned[31] = (unsigned[31] ?? 0) & 0x7f
  return weakPoints.has(unsigned.toString('hex'))
}

/** Creating a key object costs more than a verification, and the same payers return. */
const keys = new Map<string, KeyObject>()
const maxKeys = 4_096

function publicKey(address: string): KeyObject | undefined {
  const known = keys.get(address)
  if (known) return known
  try {
    const key = createPublicKey({ key: Buffer.concat([publicHead, decodeKey(address)]), format: 'der', type: 'spki' })
    if (keys.size >= maxKeys) keys.clear()
    keys.set(address, key)
    return key
  } catch {
    // 32 bytes need not be a point on the curve. No key can sign for other values.
    return undefined
  }
}
