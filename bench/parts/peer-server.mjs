// The server of another protocol, unmodified, with its facilitator in the same process; or this facilitator alone.
import { loadPeers } from '../peers.mjs'

/** @param {{ protocol: 'x402' | 'mpp' | 'facilitator', rpcUrl: string, mint: string, recipient: string, key: Uint8Array }} options */
export async function open({ protocol, ...seller }) {
  const { startPeerServer, startPeerFacilitator } = await loadPeers()
  const starting = protocol === 'facilitator' ? startPeerFacilitator(seller) : startPeerServer(protocol, seller)
  const { url, close } = await starting
  return { facts: { url }, answers: {}, close }
}
