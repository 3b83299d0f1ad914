/** The arguments of writes to a response: text or bytes, optionally with a callback. */
export type Chunk = string | Uint8Array

/** Follows Node's rule, which includes arrays of another realm. */
export function isChunk(value: unknown): value is Chunk {
  if (typeof value === 'string' || value instanceof Uint8Array) return true
  return Object.prototype.toString.call(value) === '[object Uint8Array]'
}

export type Callback = (error?: Error | null) => void

/** The callback among the arguments of `write` or `end`. */
export function callbackIn(first: unknown, second: unknown, third?: unknown): Callback | undefined {
  if (typeof first === 'function') return first as Callback
  if (typeof second === 'function') return second as Callback
  return typeof third === 'function' ? (third as Callback) : undefined
}

export function encodingIn(argument: unknown): BufferEncoding | undefined {
  return typeof argument === 'string' ? (argument as BufferEncoding) : undefined
}

export function joinChunks(
  head: Chunk,
  tail: Chunk | undefined,
  tailEncoding?: BufferEncoding,
  headEncoding?: BufferEncoding,
): Buffer {
  return Buffer.concat([readBytes(head, headEncoding), ...(tail === undefined ? [] : [readBytes(tail, tailEncoding)])])
}

export function readBytes(chunk: Chunk, encoding: BufferEncoding | undefined): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
}

export function byteLength(chunk: Chunk, encoding: BufferEncoding | undefined): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
}
