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
