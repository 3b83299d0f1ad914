/** Random bytes for requestIds, drawn from a pool because one system call per 402 would cost more than the seal. */
const pool = new Uint8Array(4096)
let used = pool.length

/** Writes `length` fresh random bytes to `target` at `offset`. */
export function writeNonce(target: Uint8Array, offset: number, length: number): void {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  target.set(pool.subarray(used, used + length), offset)
  pool.fill(0, used, used + length)
  used += length
}
