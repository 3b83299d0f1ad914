/** `fetchWith402` pays unmodified servers of other protocols on the localnet. */
// @isolated: other files load an adapter that replaces `Request`.
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { type PeerServer, type Seller, startMppServer, startX402Server, startX402V1Server } from './servers.ts'

let localnet: Localnet
let seller: Seller
let servers: Record<'x402' | 'x402-v1' | 'mpp, sponsored' | 'mpp, paid by the client', PeerServer>
beforeAll(async () => {
  // A blockhash lives for 150 slots, and the servers of the peers take their time.
  localnet = await startLocalnet({ slotMs: 100 })
  const [recipient, sponsor] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])
  await localnet.fund(recipient.address, { USDC: 0n })
  await localnet.fund(sponsor.address, { SOL: 1_000_000_000n })
  const mint = localnet.mints.USDC?.address ?? ''
  seller = { rpcUrl: localnet.rpcUrl, mint, recipient: recipient.address, sponsor }
  const [x402, x402V1, sponsored, clientPaid] = await Promise.all([
    startX402Server(seller),
    startX402V1Server(seller),
    startMppServer(seller, { sponsored: true }),
    startMppServer(seller, { sponsored: false }),
  ])
  servers = { x402, 'x402-v1': x402V1, 'mpp, sponsored': sponsored, 'mpp, paid by the client': clientPaid }
})
afterAll(async () => {
  for (const server of Object.values(servers)) await server.close()
  await localnet.close()
})

const rows = [
  { server: 'x402', protocol: 'x402', needsSol: false },
  { server: 'x402-v1', protocol: 'x402-v1', needsSol: false },
  { server: 'mpp, sponsored', protocol: 'mpp', needsSol: false },
  { server: 'mpp, paid by the client', protocol: 'mpp', needsSol: true },
] as const

interface Buyer {
  readonly wallet: KeyPairSigner
  readonly events: readonly ClientEvent[]
  readonly options: ClientOptions
}

async function newBuyer(needsSol: boolean, more: Partial<ClientOptions> = {}): Promise<Buyer> {
  const wallet = await generateKeyPairSigner()
  await localnet.fund(wallet.address, { USDC: 1_000_000n, ...(needsSol && { SOL: 1_000_000_000n }) })
  const events: ClientEvent[] = []
  const options: ClientOptions = {
    wallet,
    network: 'localnet',
    rpc: localnet.rpcUrl,
    journal: createMemoryJournal(),
    onEvent: (event) => void events.push(event),
    ...more,
  }
  return { wallet, events, options }
}

it.concurrent.each(rows)('pays $server once', async ({ server, protocol, needsSol }) => {
  const { wallet, events, options } = await newBuyer(needsSol)
  const response = await fetchWith402(servers[server].url, options)
  expect([response.status, await response.text()]).toEqual([200, 'paid'])
  expect(await readUsdc(wallet.address)).toBe(990_000n)
  expect(events).toMatchObject([
    { kind: 'paying', protocol, amount: '0.01', token: 'USDC', recipient: seller.recipient },
    { kind: 'delivered', status: 200, tx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,}$/) },
  ])
})

async function readUsdc(owner: string): Promise<bigint> {
  const params = [owner, { mint: seller.mint }, { encoding: 'jsonParsed', commitment: 'processed' }]
  const answer = await fetch(localnet.rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTokenAccountsByOwner', params }),
  })
  const { result } = (await answer.json()) as {
    result: { value: { account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } } }[] }
  }
  return BigInt(result.value[0]?.account.data.parsed.info.tokenAmount.amount ?? 0)
}
