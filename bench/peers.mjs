// The packages of other projects, as the tests use them.

/**
 * @typedef {object} Peer
 * @property {import('../tests/interop/peers.ts').PeerName} name
 * @property {import('../tests/interop/peers.ts').PeerProtocol} by The client that buys from it.
 * @property {string} title
 * @property {readonly string[]} packages The packages whose versions name it.
 */

/** @type {readonly Peer[]} */
export const peers = [
  { name: 'x402', by: 'x402', title: 'x402', packages: ['@x402/express'] },
  { name: 'mpp', by: 'mpp', title: 'MPP', packages: ['mppx', '@solana/mpp'] },
  { name: 'faremeter', by: 'x402', title: 'Faremeter', packages: ['@faremeter/middleware'] },
]

/** @returns {Promise<typeof import('../tests/interop/peers.ts')>} */
export async function loadPeers() {
  const { createJiti } = await import('jiti')
  return createJiti(import.meta.url, { fsCache: false }).import('../tests/interop/peers.ts')
}
