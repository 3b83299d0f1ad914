/** base64url by Node's own code: it takes half the time, and its result needs no flattening by V8 later. */
export function createEncoder(): (bytes: Uint8Array, length: number) => string {
  // The same memory is encoded repeatedly, so its view is kept.
  let view: Buffer = Buffer.alloc(0)
  return (bytes, length) => {
    if (view.buffer !== bytes.buffer) view = Buffer.from(bytes.buffer)
    return view.toString('base64url', bytes.byteOffset, bytes.byteOffset + length)
  }
}
