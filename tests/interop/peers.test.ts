/** Unmodified clients of other protocols pay their own servers on the localnet, which proves clients and chain. */
import { generateKeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { type PaidResponse, type Payer, payWithMppx, payWithPayKit, payWithX402, payWithX402V1 } from './clients.ts'
import { type PeerServer, type Seller, startMppServer, startX402Server, startX402V1Server } from './servers.ts'

type Kind = 'x402' | 'x402V1' | 'mppSponsored' | 'mpp'

let localnet: Localnet
let seller: Seller
let servers: Record<Kind, PeerServer>
beforeAll(async () => {
  // A blockhash lives for 150 slots, and the servers of the peers take their time.
  localnet = await startLocalnet({ slotMs: 100 })
  const [recipient, sponsor] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])
  await localnet.fund(recipient.address, { USDC: 0n })
  await localnet.fund(sponsor.address, { SOL: 1_000_000_000n })
  const mint = localnet.mints.USDC?.address ?? ''
  seller = { rpcUrl: localnet.rpcUrl, mint, recipient: recipient.address, sponsor }
  const [x402, x402V1, mppSponsored, mpp] = await Promise.all([
    startX402Server(seller),
    startX402V1Server(seller),
    startMppServer(seller, { sponsored: true }),
    startMppServer(seller, { sponsored: false }),
  ])
  servers = { x402, x402V1, mppSponsored, mpp }
})
afterAll(async () => {
  for (const server of Object.values(servers)) await server.close()
  await localnet.close()
})

async function newPayer(): Promise<Payer> {
  const signer = await generateKeyPairSigner()
  await localnet.fund(signer.address, { SOL: 1_000_000_000n, USDC: 1_000_000n })
  return { rpcUrl: localnet.rpcUrl, signer }
}

interface Peer {
  readonly client: string
  readonly server: Kind
  readonly pay: (url: string, payer: Payer) => Promise<PaidResponse>
  /** The header of a paid response. */
  readonly receipt: string
  /** The credentials of one call to a server that answers each of them with a new challenge. */
  readonly most: number
}

const x402 = { server: 'x402', receipt: 'payment-response', most: 1 } as const
const mpp = { server: 'mpp', receipt: 'payment-receipt', most: 3 } as const
const mppSponsored = { ...mpp, server: 'mppSponsored' } as const
const peers: readonly Peer[] = [
  { ...x402, client: '@x402/fetch', pay: payWithX402 },
  { ...x402, client: 'x402-fetch', pay: payWithX402V1, server: 'x402V1', receipt: 'x-payment-response' },
  { ...mppSponsored, client: 'mppx, pull, sponsored', pay: payWithMppx },
  { ...mpp, client: 'mppx, pull, client-paid', pay: payWithMppx },
  { ...mpp, client: 'mppx, push', pay: (url, payer) => payWithMppx(url, { ...payer, mode: 'push' }) },
  { ...x402, client: 'pay-kit, x402', pay: (url, payer) => payWithPayKit(url, { ...payer, protocol: 'x402' }) },
  { ...mppSponsored, client: 'pay-kit, MPP', pay: (url, payer) => payWithPayKit(url, { ...payer, protocol: 'mpp' }) },
]

it.concurrent.each(peers)('$client pays its own server with one credential', async ({ server, receipt, pay }) => {
  const payer = await newPayer()
  const { response, credentials } = await pay(servers[server].url, payer)
  expect([response.status, await response.text()]).toEqual([200, 'paid'])
  expect(response.headers.get(receipt)).toEqual(expect.any(String))
  expect(credentials).toHaveLength(1)
  expect(await readUsdc(payer.signer.address)).toBe(990_000n)
})

it.concurrent.each(peers)('$client sends $most credentials where each gets a new challenge', async (peer) => {
  const { url } = servers[peer.server]
  const withoutCredential: typeof fetch = (input, init) =>
    (typeof input === 'object' && 'url' in input ? input.url : String(input)) === url ? fetch(url) : fetch(input, init)
  const { response, credentials } = await peer.pay(url, { ...(await newPayer()), fetch: withoutCredential })
  expect(response.status).toBe(402)
  expect(new Set(credentials).size).toBe(peer.most)
})

it('the global fetch stays that of Node after a payment by pay-kit', async () => {
  const before = globalThis.fetch
  await payWithPayKit(servers.x402.url, { ...(await newPayer()), protocol: 'x402' })
  expect(globalThis.fetch).toBe(before)
})

async function readUsdc(owner: string): Promise<bigint> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'getTokenAccountsByOwner',
    params: [owner, { mint: seller.mint }, { encoding: 'jsonParsed', commitment: 'processed' }],
  })
  const answer = await fetch(localnet.rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  const { result } = (await answer.json()) as {
    result: { value: { account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } } }[] }
  }
  return BigInt(result.value[0]?.account.data.parsed.info.tokenAmount.amount ?? 0)
}
