export function readSignedTransaction(_a: unknown, _b: unknown): Uint8Array {
  throw new TypeError('later')
}
