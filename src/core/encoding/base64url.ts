/**
 * base64url without padding. Encoding runs for every 402, so it uses a table of all 12-bit pairs, which takes a fraction
 * of the library's time. Decoding uses the library with strict checks: each byte string has exactly one spelling.
 */
import { base64urlnopad } from '@scure/base'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const pairs: readonly string[] = Array.from(
  { length: 4096 },
  (_, index) => `${alphabet[index >> 6]}${alphabet[index & 63]}`,
)

export function encodeBase64url(bytes: Uint8Array, length = bytes.length): string {
  let text = ''
  let index = 0
  for (; index + 2 < length; index += 3) {
    const group = (at(bytes, index) << 16) | (at(bytes, index + 1) << 8) | at(bytes, index + 2)
    text += `${pairs[group >> 12]}${pairs[group & 4095]}`
  }
  if (index + 1 === length) text += pairs[at(bytes, index) << 4]
  if (index + 2 === length) {
    const group = (at(bytes, index) << 10) | (at(bytes, index + 1) << 2)
    text += `${pairs[group >> 6]}${alphabet[group & 63]}`
  }
  return text
}

/** Undefined for text that the encoder would not produce. */
export function decodeBase64url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  try {
    return base64urlnopad.decode(text)
  } catch {
    return undefined
  }
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}
