/**
 * Addresses and signatures as text. Each byte string has exactly one spelling, so that a payment cannot appear under
 * two names.
 */
import { base58 } from '@scure/base'

const addressBytes = 32
export const signatureBytes = 64

export function encodeBase58(bytes: Uint8Array): string {
  return base58.encode(bytes)
}

export function decodeAddress(text: string): Uint8Array | undefined {
  return decode(text, addressBytes, 44)
}

export function decodeSignature(text: string): Uint8Array | undefined {
  return decode(text, signatureBytes, 88)
}

/** Decodes bytes of any length. Decoding takes quadratic time, so the caller limits the length of the text. */
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

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** One signature in 17,000 has fewer characters. */
const signatureLengths = [86, 87, 88]

/** The ranges of signatures, both ends included, whose text starts with this one. */
export function listSignatureRanges(start: string): readonly (readonly [from: Uint8Array, to: Uint8Array])[] {
  if (start.length > 88 || !/^[1-9A-HJ-NP-Za-km-z]+$/.test(start)) return []
  const end = 1n << BigInt(8 * signatureBytes)
  return signatureLengths.flatMap((length) => {
    if (length < start.length) return []
    const from = readNumber(start.padEnd(length, '1'))
    const to = readNumber(start.padEnd(length, 'z'))
    return from < end ? [[writeSignature(from), writeSignature(to < end ? to : end - 1n)] as const] : []
  })
}

function readNumber(text: string): bigint {
  return [...text].reduce((sum, character) => sum * 58n + BigInt(alphabet.indexOf(character)), 0n)
}

function writeSignature(number: bigint): Uint8Array {
  const hex = number.toString(16).padStart(2 * signatureBytes, '0')
  return Uint8Array.from({ length: signatureBytes }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16))
}
