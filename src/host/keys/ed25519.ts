/**
 * Ed25519 by Node's own library, made as strict as the chain's `verify_strict`.
 *
 * Libraries differ on unusual keys and signatures. With a key of small order one signature can match many messages, so
 * a client could present a payment that was never made. Such points are refused before the library is called. The
 * library refuses the rest (a scalar beyond the group's order, which would give a signature two encodings); tests check
 * that.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Identity, Verifier } from '../../core/runtime.ts'

const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Importing a key costs as much as using it, and payers return, so the last `mostKeys` keys stay imported. */
export function createVerifier(mostKeys = 1_024): Verifier {
  const keys = new Map<string, KeyObject>()

  function importKey(bytes: Uint8Array): KeyObject {
    const name = Buffer.from(bytes).toString('latin1')
    const known = keys.get(name)
    const key = known ?? createPublicKey({ key: Buffer.concat([publicPrefix, bytes]), format: 'der', type: 'spki' })
    if (known) keys.delete(name)
    else if (keys.size >= mostKeys) {
      const [oldest = ''] = keys.keys()
      keys.delete(oldest)
    }
    keys.set(name, key)
    return key
  }

  return (publicKey, message, signature) => {
    if (publicKey.length !== 32 || signature.length !== 64) return false
    if (!isSoundPoint(publicKey) || !isSoundPoint(signature.subarray(0, 32))) return false
    return verify(null, message, importKey(publicKey), signature)
  }
}

/** The service's signing key, from its seed of 32 bytes. */
export function createIdentity(seed: Uint8Array): Identity {
  if (seed.length !== 32) throw new TypeError('a seed has 32 bytes')
  const key = createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return {
    publicKey: new Uint8Array(spki.subarray(publicPrefix.length)),
    sign: (text) => new Uint8Array(sign(null, text, key)),
  }
}

/** A function that signs with the key of a seed of 32 bytes. */
export function createSign(seed: Uint8Array): Identity['sign'] {
  return createIdentity(seed).sign
}

const fieldPrime = fromHex('edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f')

/**
 * The y coordinates of all points with an order that divides 8. Each stands for the one or two points that share it.
 */
const smallOrder: readonly Uint8Array[] = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map(fromHex)

/**
 * Whether the point has its canonical encoding and is not of small order. The library checks that it is on the curve.
 */
function isSoundPoint(bytes: Uint8Array): boolean {
  const y = Uint8Array.from(bytes)
  // The highest bit is the sign of x, not a part of y.
  y[31] = (y[31] ?? 0) & 0x7f
  return isBelow(y, fieldPrime) && !smallOrder.some((point) => point.every((byte, index) => byte === y[index]))
}

/** Compares two numbers of 32 bytes, lowest byte first. */
function isBelow(left: Uint8Array, right: Uint8Array): boolean {
  for (let index = 31; index >= 0; index -= 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'))
}
