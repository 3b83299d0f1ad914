/**
 * The clients and servers of other protocols, for programs in processes of their own: keys are bytes, and a client
 * lives for many purchases.
 */
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { Mppx, solana } from '@solana/mpp/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import type { PeerServer, Seller } from './servers.ts'
import { confirmByDefault, serveMpp, startX402Server } from './servers.ts'

export type PeerProtocol = 'x402' | 'mpp'

export interface PeerKey {
  readonly rpcUrl: string
  /** 64 bytes. */
  readonly key: Uint8Array
}

/** One client of each protocol, with the same wallet. `fetch` is the one that they wrap. */
export async function createPeerClients(
  { rpcUrl, key }: PeerKey,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Promise<Readonly<Record<PeerProtocol, typeof globalThis.fetch>>> {
  const signer = await createKeyPairSignerFromBytes(key)
  const x402 = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }))
  const methods = [solana.charge({ signer, rpcUrl })] as const
  const mppx = Mppx.create({ methods, fetch, polyfill: false })
  return {
    x402: wrapFetchWithPayment(fetch, x402) as typeof globalThis.fetch,
    mpp: (input, init) => mppx.fetch(input, init),
  }
}

/** The server of a protocol. Its process must run nothing else. */
export async function startPeerServer(
  protocol: PeerProtocol,
  { key, ...seller }: PeerKey & Omit<Seller, 'sponsor'>,
): Promise<PeerServer> {
  const sponsor = await createKeyPairSignerFromBytes(key)
  if (protocol === 'x402') return startX402Server({ ...seller, sponsor })
  confirmByDefaultAt(seller.rpcUrl)
  return serveMpp({ ...seller, sponsor }, { sponsored: true })
}

/** A node in between would cost time that is not the server's. */
function confirmByDefaultAt(rpcUrl: string): void {
  const send = globalThis.fetch
  globalThis.fetch = (input, init) => {
    const isCall = input === rpcUrl && typeof init?.body === 'string'
    return send(input, isCall ? { ...init, body: confirmByDefault(String(init.body)) } : init)
  }
}
