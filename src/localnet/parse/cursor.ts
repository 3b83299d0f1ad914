/** Reads the little-endian fields of instructions and accounts in sequence. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'

/** The data ends inside the field, or the value is invalid for it. */
export class Unparsable extends PaystileError {
  constructor() {
    super('unparsable', 'the bytes have another form')
  }
}

export interface Cursor {
  left(): number
  u8(): number
  u16(): number
  u32(): number
  u64(): bigint
  i16(): number
  i64(): bigint
  f64(): number
  key(): string
  bytes(length: number): Uint8Array
  /** Text with a length prefix of eight bytes (bincode) or four (borsh). */
  text(lengthBytes: 4 | 8): string
  /** An optional key with a tag of one byte (instructions) or four (accounts). */
  optionalKey(tagBytes: 1 | 4): string | undefined
  /** An optional key of an extension. Zeros mean none. */
  nonZeroKey(): string | undefined
}

export function cursorOver(data: Uint8Array): Cursor {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at = 0
  function take(length: number): number {
    if (at + length > data.length) throw new Unparsable()
    at += length
    return at - length
  }
  const cursor: Cursor = {
    left: () => data.length - at,
    u8: () => view.getUint8(take(1)),
    u16: () => view.getUint16(take(2), true),
    u32: () => view.getUint32(take(4), true),
    u64: () => view.getBigUint64(take(8), true),
    i16: () => view.getInt16(take(2), true),
    i64: () => view.getBigInt64(take(8), true),
    f64: () => view.getFloat64(take(8), true),
    key: () => encodeBase58(cursor.bytes(32)),
    bytes(length) {
      const start = take(length)
      return data.subarray(start, start + length)
    },
    text(lengthBytes) {
      const length = lengthBytes === 4 ? cursor.u32() : Number(cursor.u64())
      return decodeText(cursor.bytes(length))
    },
    optionalKey(tagBytes) {
      const tag = tagBytes === 1 ? cursor.u8() : cursor.u32()
      if (tag > 1) throw new Unparsable()
      // In accounts, the field has its full length even without a key.
      if (tagBytes === 1 && tag === 0) return undefined
      const key = cursor.key()
      return tag === 1 ? key : undefined
    },
    nonZeroKey() {
      const bytes = cursor.bytes(32)
      return bytes.every((byte) => byte === 0) ? undefined : encodeBase58(bytes)
    },
  }
  return cursor
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Unparsable()
  }
}
