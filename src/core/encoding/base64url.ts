/**
 * base64url without padding. Every 402 writes it and every proof reads it, so both directions use tables, which takes a
 * fraction of the library's time. Each byte string has exactly one spelling.
 */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const pairs: readonly string[] = Array.from(
  { length: 4096 },
  (_, index) => `${alphabet[index >> 6]}${alphabet[index & 63]}`,
)
/** The value of each ASCII letter; -1 for others. */
const values = Int8Array.from({ length: 128 }, (_, code) => alphabet.indexOf(String.fromCharCode(code)))

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
  const { length } = text
  if (length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((length * 3) / 4))
  let [filled, bits, held] = [0, 0, 0]
  for (let index = 0; index < length; index += 1) {
    const value = values[text.charCodeAt(index)] ?? -1
    if (value < 0) return undefined
    held = ((held << 6) | value) & 0xfff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    bytes[filled++] = held >> bits
  }
  // The bits after the last byte are zero in the only valid spelling.
  return (held & ((1 << bits) - 1)) === 0 ? bytes : undefined
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}
