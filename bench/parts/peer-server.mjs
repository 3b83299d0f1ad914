// The server of another project, unmodified, with its facilitator in the same process; or the facilitator of x402 alone.
import { loadPeers } from '../peers.mjs'

/**
 * @typedef {import('../../tests/interop/peers.ts').PeerName} PeerName
 *
 * @param {{ peer: PeerName | 'facilitator', rpcUrl: string, mint: string, recipient: string, key: Uint8Array }} options
 */
export async function open({ peer, ...seller }) {
  const { startPeerServer, startPeerFacilitator } = await loadPeers()
  const starting = peer === 'facilitator' ? startPeerFacilitator(seller) : startPeerServer(peer, seller)
  const { url, close } = await starting
  return { facts: { url }, answers: {}, close }
}
