/**
 * HMAC-SHA-256 with a prepared key.
 *
 * Every 402 needs two MACs. The library spends most of its time on objects. This file stores the two prepared states
 * and runs only the compressions. `hmac.test.ts` compares it with the library.
 */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { initialState, openSha256Block, type Sha256Block } from './sha256-block.ts'

const blockBytes = 64
const digestBytes = 32

/**
 * Computes the MAC of the prepared prefix plus the first `length` bytes of `message`, in a fresh array or in `into`.
 */
export type Hmac = (message: Uint8Array, length?: number, into?: Uint8Array) => Uint8Array

/** Only one MAC is computed at a time, so all share it. Null if this process permits no WebAssembly. */
let shared: Sha256Block | null | undefined

/** Prepares a key of at most 64 bytes. `prefix` is the constant start of all messages. */
export function prepareHmac(key: Uint8Array, prefix: Uint8Array = new Uint8Array()): Hmac {
  if (key.length > blockBytes) throw new RangeError('a MAC key is at most 64 bytes')
  shared ??= openSha256Block() ?? null
  return shared ? prepareWithBlocks(shared, key, prefix) : prepareWithLibrary(key, prefix)
}

export function prepareWithLibrary(key: Uint8Array, prefix: Uint8Array): Hmac {
  return (message, length = message.length, into = new Uint8Array(digestBytes)) => {
    into.set(hmac.create(sha256, key).update(prefix).update(message.subarray(0, length)).digest())
    return into
  }
}

function prepareWithBlocks(sha: Sha256Block, key: Uint8Array, prefix: Uint8Array): Hmac {
  const { state, block, compress } = sha
  const absorb = (bytes: Uint8Array): void => {
    block.set(bytes)
    compress()
  }
  const begin = (pad: number): void => {
    state.set(initialState)
    absorb(Uint8Array.from({ length: blockBytes }, (_, index) => (key[index] ?? 0) ^ pad))
  }
  begin(0x5c)
  const outer = Int32Array.from(state)
  begin(0x36)
  const whole = prefix.length - (prefix.length % blockBytes)
  for (let offset = 0; offset < whole; offset += blockBytes) absorb(prefix.subarray(offset, offset + blockBytes))
  const inner = Int32Array.from(state)
  const rest = prefix.slice(whole)
  const before = blockBytes + whole + rest.length

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
        compress()
        filled = 0
      }
    }
    finish(sha, filled, before + length)
    writeDigest(state, block)
    state.set(outer)
    finish(sha, digestBytes, blockBytes + digestBytes)
    return writeDigest(state, into)
  }
}

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

/** Finishes the message with `filled` bytes in the block, and leaves its hash in the state. */
function finish({ block, compress }: Sha256Block, filled: number, totalBytes: number): void {
  block[filled] = 0x80
  block.fill(0, filled + 1)
  if (filled + 9 > blockBytes) {
    compress()
    block.fill(0)
  }
  for (let index = 63, bits = totalBytes * 8; bits > 0; index -= 1, bits = Math.floor(bits / 256)) block[index] = bits
  compress()
}

function writeDigest(state: Int32Array, bytes: Uint8Array): Uint8Array {
  for (let index = 0; index < digestBytes; index += 1)
    bytes[index] = (state[index >> 2] as number) >>> (24 - (index & 3) * 8)
  return bytes
}
