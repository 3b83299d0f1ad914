/** Addresses and signatures as text. A byte string has one spelling, so that a payment cannot appear under two names. */
import { base58 } from '@scure/base'

const addressBytes = 32
export const signatureBytes = 64

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const pairs: readonly string[] = Array.from(
  { length: 58 ** 2 },
  (_, index) => `${alphabet[Math.floor(index / 58)]}${alphabet[index % 58]}`,
)

/**
 * Lists and exports write a signature per row, so this divides limbs of 24 bits by 58⁴, in a fraction of the library's time.
 * Decoding is the library's.
 */
export function encodeBase58(bytes: Uint8Array): string {
  const count = Math.ceil(bytes.length / 3)
  const limbs = new Uint32Array(count)
  for (let index = 0; index < bytes.length; index += 1) {
    const place = bytes.length - 1 - index
    const limb = count - 1 - Math.floor(index / 3)
    limbs[limb] = (limbs[limb] ?? 0) + (bytes[place] ?? 0) * 2 ** ((index % 3) * 8)
  }
  let text = ''
  for (let first = 0; first < count; ) {
    let rest = 0
    for (let index = first; index < count; index += 1) {
      const value = rest * 2 ** 24 + (limbs[index] ?? 0)
      const quotient = Math.floor(value / 58 ** 4)
      limbs[index] = quotient
      rest = value - quotient * 58 ** 4
    }
    text = `${pairs[Math.floor(rest / 58 ** 2)]}${pairs[rest % 58 ** 2]}${text}`
    while (first < count && limbs[first] === 0) first += 1
  }
  // A zero byte at the beginning is a 1; the 1s that filled up the last four digits are none.
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1
  return `${'1'.repeat(zeros)}${text.replace(/^1+/, '')}`
}

export function decodeAddress(text: string): Uint8Array | undefined {
  return decode(text, addressBytes, 44)
}

export function decodeSignature(text: string): Uint8Array | undefined {
  return decode(text, signatureBytes, 88)
}

/** Bytes of any length. Decoding takes time that grows with the square of the text, so the caller says how long it may be. */
export function decodeBase58(text: string, longestText: number): Uint8Array | undefined {
  if (text.length > longestText) return undefined
  try {
    return base58.decode(text)
  } catch {
    return undefined
  }
}

function decode(text: string, length: number, longest: number): Uint8Array | undefined {
  if (text.length < length) return undefined
  const bytes = decodeBase58(text, longest)
  return bytes?.length === length ? bytes : undefined
}
