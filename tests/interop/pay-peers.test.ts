/**
 * `fetchWith402` pays unmodified servers of other protocols on the localnet, once for each purchase.
 *
 * The short form buys once from each server. The full form adds further purchases, an answer that is lost after the
 * settlement, and an error of the server after the settlement.
 */
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateKeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchWith402 } from '../../src/client/index.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import type { ClientEvent, ClientOptions } from '../../src/client/options.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { isLong } from '../harness/length.ts'
import {
  createPeerFacilitator,
  type PeerServer,
  type Seller,
  serveHono,
  startFaremeterServer,
  startMppServer,
  startPayKitServer,
  startX402Server,
  startX402V1Server,
} from './servers.ts'

interface Row {
  readonly server: string
  readonly protocol: 'mpp' | 'x402' | 'x402-v1'
  readonly start: (seller: Seller) => Promise<PeerServer>
  /** The answer to a credential whose payment has landed: with mppx, status 500 for good. Default: a refusal. */
  readonly again?: 500
  /** The buyer pays the fee of the network. */
  readonly needsSol?: true
}

const rows: readonly Row[] = [
  { server: '@x402/express', protocol: 'x402', start: startX402Server },
  {
    ...{ server: '@x402/hono', protocol: 'x402' },
    start: (seller) => serveHono(createPeerFacilitator(seller), seller),
  },
  { server: 'x402-express', protocol: 'x402-v1', start: startX402V1Server },
  {
    ...{ server: 'mppx, sponsored', protocol: 'mpp', again: 500 },
    start: (seller) => startMppServer(seller, { sponsored: true }),
  },
  {
    ...{ server: 'mppx, paid by the client', protocol: 'mpp', again: 500, needsSol: true },
    start: (seller) => startMppServer(seller, { sponsored: false }),
  },
  {
    ...{ server: '@solana/pay-kit, MPP', protocol: 'mpp' },
    start: (seller) => startPayKitServer(seller, 'mpp'),
  },
  {
    ...{ server: '@solana/pay-kit, x402', protocol: 'x402' },
    start: (seller) => startPayKitServer(seller, 'x402'),
  },
  {
    ...{ server: '@faremeter/middleware', protocol: 'x402' },
    start: (seller) => startFaremeterServer(seller, 'x402v2'),
  },
  {
    ...{ server: '@faremeter/middleware, version 1', protocol: 'x402-v1' },
    start: (seller) => startFaremeterServer(seller, 'x402v1'),
  },
]

let localnet: Localnet
let seller: Seller
let servers: ReadonlyMap<string, PeerServer>
beforeAll(async () => {
  // A blockhash lives for 150 slots, and the servers of the peers take their time.
  localnet = await startLocalnet({ slotMs: 100 })
  const [recipient, sponsor] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])
  await localnet.fund(recipient.address, { USDC: 0n })
  await localnet.fund(sponsor.address, { SOL: 1_000_000_000n })
  const mint = localnet.mints.USDC?.address ?? ''
  seller = { rpcUrl: localnet.rpcUrl, mint, recipient: recipient.address, sponsor }
  servers = new Map(await Promise.all(rows.map(async ({ server, start }) => [server, await start(seller)] as const)))
})
afterAll(async () => {
  for (const server of servers.values()) await server.close()
  await localnet.close()
})

const findServer = (name: string): string => servers.get(name)?.url ?? ''

it.concurrent.each(rows)('pays $server once', async ({ server, protocol, needsSol }) => {
  const { events, options, spent } = await newBuyer(needsSol)
  const response = await fetchWith402(findServer(server), options)
  expect([response.status, await response.text()]).toEqual([200, 'paid'])
  expect(await spent()).toBe(10_000n)
  expect(events).toMatchObject([
    { kind: 'paying', protocol, amount: '0.01', token: 'USDC', recipient: seller.recipient },
    { kind: 'delivered', status: 200, tx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,}$/) },
  ])
})

const inFull = isLong ? rows : []

it.concurrent.each(inFull)('buys the same resource at $server again with a second payment', async (row) => {
  const { options, spent } = await newBuyer(row.needsSol)
  for (const charged of [10_000n, 20_000n]) {
    const response = await fetchWith402(findServer(row.server), options)
    expect([response.status, await response.text(), await spent()]).toEqual([200, 'paid', charged])
  }
})

it.concurrent.each(inFull)('buys two resources at $server at the same time', async (row) => {
  const { options, spent } = await newBuyer(row.needsSol)
  const buy = async (query: string) => (await fetchWith402(`${findServer(row.server)}?${query}`, options)).text()
  expect(await Promise.all([buy('1'), buy('2')])).toEqual(['paid', 'paid'])
  expect(await spent()).toBe(20_000n)
})

/** Takes the place of the first answer to a credential, after the server has sent it. */
type Fault = readonly [name: string, answer: (response: ServerResponse) => unknown]
const faults: readonly Fault[] = [
  ['whose answer is lost', (response) => response.destroy()],
  ['that answers 500 once', (response) => response.writeHead(500).end()],
]

it.concurrent.each(inFull.flatMap((row) => faults.map(([name, answer]) => ({ ...row, name, answer }))))(
  'pays $server $name after the settlement once',
  async ({ server, needsSol, again, answer }) => {
    const proxy = await startProxy(findServer(server), answer)
    const { options, spent } = await newBuyer(needsSol, { timeoutMs: 20_000 })
    // No peer delivers for a payment that has landed. The first call after an error of the server keeps the payment.
    for (const words of again === 500 ? [/Call again/, /The client drops it/] : [/The client drops it/]) {
      const error = await fetchWith402(proxy.url, options).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'paid_not_delivered', message: expect.stringMatching(words) })
    }
    expect([proxy.credentials.length > 1, new Set(proxy.credentials).size, await spent()]).toEqual([true, 1, 10_000n])
    const response = await fetchWith402(proxy.url, options)
    expect([response.status, await response.text()]).toEqual([200, 'paid'])
    expect([new Set(proxy.credentials).size, await spent()]).toEqual([2, 20_000n])
    await proxy.close()
  },
)

interface Buyer {
  readonly events: readonly ClientEvent[]
  readonly options: ClientOptions
  spent(): Promise<bigint>
}

async function newBuyer(needsSol = false, more: Partial<ClientOptions> = {}): Promise<Buyer> {
  const wallet = await generateKeyPairSigner()
  await localnet.fund(wallet.address, { USDC: 1_000_000n, ...(needsSol && { SOL: 1_000_000_000n }) })
  const events: ClientEvent[] = []
  const options: ClientOptions = {
    ...{ wallet, network: 'localnet', rpc: localnet.rpcUrl, journal: createMemoryJournal() },
    onEvent: (event) => void events.push(event),
    ...more,
  }
  return { events, options, spent: async () => 1_000_000n - (await readUsdc(wallet.address)) }
}

interface Proxy extends PeerServer {
  /** The credentials that were sent, in order. */
  readonly credentials: readonly string[]
}

/** Passes everything on, except for the first answer to a credential. */
async function startProxy(target: string, answer: Fault[1]): Promise<Proxy> {
  const credentials: string[] = []
  const server = createServer((request, response) => {
    const credential = readCredential(request)
    if (credential !== undefined) credentials.push(credential)
    const isFirst = credential !== undefined && credentials.length === 1
    const onward = openRequest(target, { headers: request.headers }, (answered) => {
      if (isFirst) {
        answered.resume().once('end', () => answer(response))
        return
      }
      response.writeHead(answered.statusCode ?? 500, answered.headers)
      answered.pipe(response)
    })
    onward.once('error', () => response.destroy())
    onward.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/paid`,
    credentials,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function readCredential({ headers }: IncomingMessage): string | undefined {
  const credential = headers['payment-signature'] ?? headers['x-payment'] ?? headers.authorization
  return Array.isArray(credential) ? credential[0] : credential
}

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
