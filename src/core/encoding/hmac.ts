/**
 * HMAC-SHA-256 with a prepared key.
 *
 * Every 402 needs two MACs. The library spends most of its time on objects. This file stores the two prepared states
 * and runs only the compressions. `hmac.test.ts` compares it with the library.
 */
const roundConstants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
])
const initial = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const
const blockBytes = 64
const digestBytes = 32
/** The padding after 32 bytes in the second block: the end mark, zeros, and the length in bits. */
const outerPadding = new Int32Array([0x80000000, 0, 0, 0, 0, 0, 0, (blockBytes + digestBytes) * 8])

/**
 * Computes the MAC of the prepared prefix plus the first `length` bytes of `message`, in a fresh array or in `into`.
 */
export type Hmac = (message: Uint8Array, length?: number, into?: Uint8Array) => Uint8Array

/** Prepares a key of at most 64 bytes. `prefix` is the constant start of all messages. */
export function prepareHmac(key: Uint8Array, prefix: Uint8Array = new Uint8Array()): Hmac {
  if (key.length > blockBytes) throw new RangeError('a MAC key is at most 64 bytes')
  const inner = absorb(start(), padded(key, 0x36))
  const outer = absorb(start(), padded(key, 0x5c))
  const whole = prefix.length - (prefix.length % blockBytes)
  for (let offset = 0; offset < whole; offset += blockBytes) absorb(inner, prefix.subarray(offset, offset + blockBytes))
  const rest = prefix.slice(whole)
  const before = blockBytes + whole

  return (message, length = message.length, into = new Uint8Array(digestBytes)) => {
    state.set(inner)
    block.set(rest)
    let filled = rest.length
    for (let offset = 0; offset < length; ) {
      const taken = Math.min(blockBytes - filled, length - offset)
      for (let index = 0; index < taken; index += 1) block[filled + index] = message[offset + index] as number
      filled += taken
      offset += taken
      if (filled === blockBytes) {
        absorb(state, block)
        filled = 0
      }
    }
    finish(filled, before + rest.length + length)
    // The outer message is the inner hash, already in words: one block with constant padding.
    words.set(state)
    words.set(outerPadding, state.length)
    state.set(outer)
    compress(state)
    return writeDigest(into)
  }
}

/** Only one MAC is computed at a time, so all share these buffers. */
const state = new Int32Array(8)
const block = new Uint8Array(blockBytes)

/** Pads with zeros to a block boundary, so that the constant prefix is compressed once, at preparation. */
export function padToBlock(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil(bytes.length / blockBytes) * blockBytes)
  padded.set(bytes)
  return padded
}

/** Compares in constant time. Lengths are not secret. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  let difference = 0
  for (let index = 0; index < left.length; index += 1) difference |= (left[index] ?? 0) ^ (right[index] ?? 0)
  return difference === 0
}

function start(): Int32Array {
  return Int32Array.from(initial)
}

function padded(key: Uint8Array, pad: number): Uint8Array {
  return Uint8Array.from({ length: blockBytes }, (_, index) => (key[index] ?? 0) ^ pad)
}

/** Finishes the message with `filled` bytes in `block`, and leaves its hash in `state`. */
function finish(filled: number, totalBytes: number): void {
  block[filled] = 0x80
  block.fill(0, filled + 1)
  if (filled + 9 > blockBytes) {
    absorb(state, block)
    block.fill(0)
  }
  for (let index = 63, bits = totalBytes * 8; bits > 0; index -= 1, bits = Math.floor(bits / 256)) block[index] = bits
  absorb(state, block)
}

function writeDigest(bytes: Uint8Array): Uint8Array {
  for (let index = 0; index < digestBytes; index += 1)
    bytes[index] = (state[index >> 2] as number) >>> (24 - (index & 3) * 8)
  return bytes
}

const words = new Int32Array(64)

function absorb(state: Int32Array, block: Uint8Array): Int32Array {
  for (let i = 0; i < 16; i += 1) {
    const at = i * 4
    words[i] =
      ((block[at] as number) << 24) |
      ((block[at + 1] as number) << 16) |
      ((block[at + 2] as number) << 8) |
      (block[at + 3] as number)
  }
  return compress(state)
}

/** SHA-256's compression of the first 16 words in `words` into `state`. */
function compress(state: Int32Array): Int32Array {
  const k = roundConstants
  const w = words
  for (let i = 16; i < 64; i += 1) {
    const x = w[i - 15] as number
    const y = w[i - 2] as number
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    w[i] = ((((w[i - 16] as number) + s0) | 0) + (((w[i - 7] as number) + s1) | 0)) | 0
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  // Runs four rounds at a time. Instead of rotating the variables, each round reads them shifted by one.
  for (let i = 0; i < 64; i += 4) {
    let t = (mixE(e, f, g, h) + (((k[i] as number) + (w[i] as number)) | 0)) | 0
    d = (d + t) | 0
    h = (t + mixA(a, b, c)) | 0
    t = (mixE(d, e, f, g) + (((k[i + 1] as number) + (w[i + 1] as number)) | 0)) | 0
    c = (c + t) | 0
    g = (t + mixA(h, a, b)) | 0
    t = (mixE(c, d, e, f) + (((k[i + 2] as number) + (w[i + 2] as number)) | 0)) | 0
    b = (b + t) | 0
    f = (t + mixA(g, h, a)) | 0
    t = (mixE(b, c, d, e) + (((k[i + 3] as number) + (w[i + 3] as number)) | 0)) | 0
    a = (a + t) | 0
    e = (t + mixA(f, g, h)) | 0
    t = a
    a = e
    e = t
    t = b
    b = f
    f = t
    t = c
    c = g
    g = t
    t = d
    d = h
    h = t
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
  state[5] = (state[5] as number) + f
  state[6] = (state[6] as number) + g
  state[7] = (state[7] as number) + h
  return state
}

/** The part of a round that depends on e, f, g and h. */
function mixE(e: number, f: number, g: number, h: number): number {
  const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
  return (((h + s1) | 0) + (g ^ (e & (f ^ g)))) | 0
}

/** The part of a round that depends on a, b and c. */
function mixA(a: number, b: number, c: number): number {
  const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
  return (s0 + ((a & b) | (c & (a | b)))) | 0
}
