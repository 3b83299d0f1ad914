/** base64url by Node's own code: half the time of ours, and text that V8 need not put together later. */
export function createEncoder(): (bytes: Uint8Array, length: number) => string {
  // The same room is encoded again and again, so its view is kept.
  let view: Buffer = Buffer.alloc(0)
  return (bytes, length) => {
    if (view.buffer !== bytes.buffer) view = Buffer.from(bytes.buffer)
    return view.toString('base64url', bytes.byteOffset, bytes.byteOffset + length)
  }
}
