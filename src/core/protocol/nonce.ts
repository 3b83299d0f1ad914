/**
 * Random bytes for requestIds and claim secrets. They come from a pool, because one system call per 402 would cost more than the seal.
 */
const pool = new Uint8Array(4096)
let used = pool.length

/** Writes `length` fresh random bytes to `target` at `offset`. */
export function writeNonce(target: Uint8Array, offset: number, length: number): void {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  for (let index = 0; index < length; index += 1) {
    target[offset + index] = pool[used] as number
    pool[used++] = 0
  }
}
