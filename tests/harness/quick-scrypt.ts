/** `node:crypto` whose scrypt is done in no time, for tests that open many key files. Mock it with this where they begin. */
import type * as Crypto from 'node:crypto'

export async function quickScrypt(load: () => Promise<unknown>): Promise<typeof Crypto> {
  const real = (await load()) as typeof Crypto
  return {
    ...real,
    scryptSync: (phrase, salt, length, options) => real.scryptSync(phrase, salt, length, { ...options, N: 2 }),
  }
}
