/**
 * The clients and servers of other protocols, for programs in processes of their own: keys are bytes, and a client
 * lives for many purchases.
 */
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { Mppx, solana } from '@solana/mpp/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import type { PeerServer, Seller } from './servers.ts'
import {
  confirmByDefault,
  connectFacilitator,
  createPeerFacilitator,
  serveFacilitator,
  serveMpp,
  startFaremeterServer,
  startX402Server,
} from './servers.ts'

export type PeerProtocol = 'x402' | 'mpp'

/** The projects whose servers can be started. */
export type PeerName = PeerProtocol | 'faremeter'

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

/** The server of a project. Its process must run nothing else. */
export async function startPeerServer(
  peer: PeerName,
  { key, ...seller }: PeerKey & Omit<Seller, 'sponsor'>,
): Promise<PeerServer> {
  const sponsor = await createKeyPairSignerFromBytes(key)
  if (peer === 'x402') return startX402Server({ ...seller, sponsor })
  if (peer === 'faremeter') return startFaremeterServer({ ...seller, sponsor }, 'x402v2')
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

/** The facilitator of x402, in a process of its own. */
export async function startPeerFacilitator({ rpcUrl, key }: PeerKey): Promise<PeerServer> {
  const sponsor = await createKeyPairSignerFromBytes(key)
  return serveFacilitator(createPeerFacilitator({ rpcUrl, sponsor }))
}

/** Signs a payment with the client of x402. The result settles it once, with the peers' client of a facilitator. */
export async function signPayment(
  { rpcUrl, key }: PeerKey,
  { url, mint, recipient }: { readonly url: string; readonly mint: string; readonly recipient: string },
): Promise<() => Promise<{ readonly success: boolean; readonly errorReason?: string | undefined }>> {
  const facilitator = connectFacilitator(url)
  const kind = (await facilitator.getSupported()).kinds.find(({ x402Version }) => x402Version === 2)
  if (!kind) throw new Error(`${url} does not support x402 version 2`)
  const { scheme, network } = kind
  const accepted = {
    ...{ scheme, network, amount: '10000', asset: mint, payTo: recipient, maxTimeoutSeconds: 60 },
    extra: { feePayer: kind.extra?.['feePayer'] },
  }
  const signer = await createKeyPairSignerFromBytes(key)
  const client = new x402Client().register('solana:*', new ExactSvmScheme(signer, { rpcUrl }))
  const resource = { url: 'http://127.0.0.1/paid', description: '', mimeType: '' }
  const payload = await client.createPaymentPayload({ x402Version: 2, resource, accepts: [accepted] })
  return () => facilitator.settle(payload, accepted)
}
