/** Addresses and signatures as text. A byte string has one spelling, so that a payment cannot appear under two names. */
import { base58 } from '@scure/base'

export const addressBytes = 32
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

function decode(text: string, length: number, longest: number): Uint8Array | undefined {
  if (text.length < length || text.length > longest) return undefined
  try {
    const bytes = base58.decode(text)
    return bytes.length === length ? bytes : undefined
  } catch {
    return undefined
  }
}
