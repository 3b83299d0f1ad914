// The server of another protocol, unmodified, with its facilitator in the same process.
import { loadPeers } from '../peers.mjs'

/** @param {{ protocol: 'x402' | 'mpp', rpcUrl: string, mint: string, recipient: string, key: Uint8Array }} options */
export async function open({ protocol, ...seller }) {
  const { startPeerServer } = await loadPeers()
  const { url, close } = await startPeerServer(protocol, seller)
  return { facts: { url }, answers: {}, close }
}
