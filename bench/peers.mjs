// The packages of other protocols, as the tests use them.
import { createJiti } from 'jiti'

/** @returns {Promise<typeof import('../tests/interop/peers.ts')>} */
export function loadPeers() {
  return createJiti(import.meta.url, { fsCache: false }).import('../tests/interop/peers.ts')
}
