/** Unmodified clients of other protocols pay for one route, on every adapter and ledger. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Mint, splTokenProgram, token2022Program } from '../../src/core/money/tokens.ts'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import type { GatewayConfig } from '../../src/gateway/config/schema.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Handler, type Serve, type Served } from '../harness/adapters.ts'
import { postgresServer } from '../harness/database.ts'
import { cells } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { createMint, mintTo } from '../harness/mint.ts'
import { openShop, type Shop, useTemporaryHome } from '../harness/shop.ts'
import { type PaidResponse, type Payer, payWithMppx, payWithPayKit, payWithX402, payWithX402V1 } from './clients.ts'

const home = useTemporaryHome()
let world: LocalnetFixture
/** Without SOL: the service pays the fees. */
let poor: KeyPairSigner
let rich: KeyPairSigner
let partner: string
let token2022: Mint
let euro: Mint

beforeAll(async () => {
  world = await createLocalnetFixture()
  const issuer = await world.person()
  partner = issuer.address
  token2022 = await createMint(world, issuer, { tokenProgram: token2022Program, decimals: 4 })
  euro = await createMint(world, issuer, { tokenProgram: splTokenProgram, decimals: 6 })
  ;[poor, rich] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()])
  await world.localnet.fund(poor.address, { USDC: 100_000_000n })
  await world.localnet.fund(rich.address, { SOL: 10_000_000_000n, USDC: 100_000_000n })
  for (const mint of [token2022, euro])
    await mintTo(world, mint, issuer, { [poor.address]: 1_000_000n, [world.recipient.address]: 1n })
})
afterAll(async () => {
  await world.close()
  home.remove()
})

interface Client {
  readonly pay: (url: string, payer: Payer) => Promise<PaidResponse>
  /** Who pays the network fee. */
  readonly fee: 'service' | 'payer'
  readonly options?: () => Partial<ProviderOptions>
  readonly receipt?: object
}
const sponsored = { fee: 'service' } as const
const ownToken = {
  options: () => ({ token: 'EURC', price: '0.01', tokens: { EURC: { mint: euro.address, decimals: 6 } } }),
  receipt: { amount: '0.01', token: 'EURC' },
}
const payKitOverMpp: Client['pay'] = (url, payer) => payWithPayKit(url, { ...payer, protocol: 'mpp' })
const toPartner = () => ({ splits: [{ recipient: partner, share: 10 }] })
const inSol = () => ({ token: 'SOL', price: '0.001' }) as const
const clients: readonly (readonly [name: string, client: Client])[] = [
  ['@x402/fetch', { ...sponsored, pay: payWithX402 }],
  ['x402-fetch (v1)', { ...sponsored, pay: payWithX402V1 }],
  ['mppx, pull', { ...sponsored, pay: payWithMppx }],
  ['pay-kit over x402', { ...sponsored, pay: (url, payer) => payWithPayKit(url, { ...payer, protocol: 'x402' }) }],
  ['pay-kit over MPP', { ...sponsored, pay: payKitOverMpp }],
  ['mppx, pull, payer pays the fee', { fee: 'payer', pay: payWithMppx }],
  ['mppx, pull, for a split price', { ...sponsored, pay: payWithMppx, options: toPartner }],
  ['mppx, pull, for a split price, payer pays the fee', { fee: 'payer', pay: payWithMppx, options: toPartner }],
  ['pay-kit over MPP for a split price', { ...sponsored, pay: payKitOverMpp, options: toPartner }],
  ['mppx, push', { fee: 'payer', pay: (url, payer) => payWithMppx(url, { ...payer, mode: 'push' }) }],
  ['mppx in SOL', { fee: 'payer', pay: payWithMppx, options: inSol, receipt: { amount: '0.001', token: 'SOL' } }],
  [
    'mppx in a token of Token-2022',
    {
      ...sponsored,
      pay: payWithMppx,
      options: () => ({ token: 'NATIVE', price: '0.5', mints: { NATIVE: token2022 } }),
      receipt: { amount: '0.5', token: 'NATIVE' },
    },
  ],
  [
    '@x402/fetch in an own token',
    { ...sponsored, ...ownToken, pay: (url, payer) => payWithX402(url, { ...payer, mint: euro.address }) },
  ],
  ['x402-fetch (v1) in an own token', { ...sponsored, ...ownToken, pay: payWithX402V1 }],
  ['mppx, pull, in an own token', { ...sponsored, ...ownToken, pay: payWithMppx }],
]
const ledgers: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ['SQLite', async () => `sqlite:${join(home.path, `${crypto.randomUUID()}.sqlite`)}`],
  ['PostgreSQL', () => postgresServer().place()],
]
const places: readonly (readonly [name: string, serve: Serve])[] = [...adapters, ['the gateway', serveGateway]]
/** The short form has each client and each place at least once. */
const purchases = clients.flatMap(([client, how], row) =>
  cells(places, places.length, row).flatMap(([place, serve]) =>
    cells(ledgers, ledgers.length, row).map(
      ([ledger, url]) => [`${place} on ${ledger} sells to ${client}, for one credential`, how, serve, url] as const,
    ),
  ),
)

it.each(purchases)('%s', async (_name, client, serve, ledger) => {
  const isSponsored = client.fee === 'service'
  const shop = await openShop(world, serve, () => ({ body: 'the secret' }), {
    ledger: await ledger(),
    ...(isSponsored ? { sponsor: { minMargin: 0 }, x402: { v1: true } } : { mpp: { push: true } }),
    ...client.options?.(),
  } as Partial<ProviderOptions>)
  try {
    const payer = { rpcUrl: world.localnet.rpcUrl, signer: isSponsored ? poor : rich }
    const { response, credentials } = await client.pay(`${shop.url}/data?a=1`, payer)
    expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    expect(credentials).toHaveLength(1)
    const expected = client.receipt ?? { amount: '0.01', token: 'USDC' }
    expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject(expected)
  } finally {
    await shop.close()
  }
})

/** A gateway with one route, in front of the handler. */
async function serveGateway(options: ProviderOptions, handler: Handler): Promise<Served> {
  const upstream = createServer(async (request, response) => {
    const visit = { header: (name: string) => request.headers[name]?.toString(), text: async () => '' }
    const { status = 200, body } = await handler(request.url ?? '/', visit)
    // A payment never reaches the upstream.
    const isClean = !['authorization', 'payment-signature', 'x-payment'].some((name) => name in request.headers)
    response.writeHead(isClean ? status : 500).end(body)
  })
  upstream.listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  const { port } = upstream.address() as AddressInfo
  const { price, ...shared } = options
  const gateway = createGateway({
    ...(shared as Partial<GatewayConfig>),
    listen: { port: 0 },
    upstream: `http://127.0.0.1:${port}`,
    routes: [{ path: '/*', price }],
  } as GatewayConfig)
  const close = async () => {
    await gateway.close()
    upstream.closeAllConnections()
    upstream.close()
  }
  return {
    url: await gateway.listen(),
    ready: async () => ({ ...(await gateway.readiness()) }),
    readiness: gateway.readiness,
    metrics: async () => '',
    stop: close,
    close,
  }
}

it('offers nothing but the native challenge to paystile’s own client, and without a sponsor', async () => {
  const [, serve] = adapters[5] ?? expect.fail('no adapter')
  const [sponsored, bare] = await Promise.all([
    openShop(world, serve, () => ({ body: 'x' }), { sponsor: true }),
    openShop(world, serve, () => ({ body: 'x' })),
  ])
  const names = async ({ url }: Shop, headers = {}) => [...(await fetch(url, { headers })).headers.keys()]
  expect(await names(sponsored)).toEqual(expect.arrayContaining(['payment-required', 'www-authenticate']))
  for (const seen of [await names(bare), await names(sponsored, { 'Payment-Accept': `claim=${'A'.repeat(43)}` })]) {
    expect(seen).not.toContain('payment-required')
    expect(seen).not.toContain('www-authenticate')
  }
  await Promise.all([sponsored.close(), bare.close()])
})

it.each(adapters)('%s sells a request whose body determines the purchase', async (_name, serve) => {
  const options = { sponsor: true, bind: { body: true } } as const
  const shop = await openShop(world, serve, () => ({ body: 'the secret' }), options)
  const payer = { rpcUrl: world.localnet.rpcUrl, signer: poor }
  const { response } = await payWithX402(`${shop.url}/data`, payer, { method: 'POST', body: 'a question' })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  await shop.close()
})

it('waits for finality where the price needs it, because the client asks once', async () => {
  const [, serve] = adapters[5] ?? expect.fail('no adapter')
  // Enough to be confirmed, but not to be final.
  const options = { sponsor: true, finalizedFrom: 0, waitSeconds: 1 } as const
  const shop = await openShop(world, serve, () => ({ body: 'the secret' }), options)
  const { response } = await payWithX402(`${shop.url}/data`, { rpcUrl: world.localnet.rpcUrl, signer: poor })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  await shop.close()
})

/** From the eighth request of a second on, challenges are written before their requests. */
const busyRequests = 40

it.each(cells(adapters, adapters.length, 0))(
  '%s sells an address that many clients request at once',
  async (_, serve) => {
    const shop = await openShop(world, serve, () => ({ body: 'the secret' }), { sponsor: true })
    const url = `${shop.url}/data`
    const payer = { rpcUrl: world.localnet.rpcUrl, signer: poor }
    const challenges: string[] = []
    const ask = async () => {
      const { headers } = await fetch(url)
      challenges.push(headers.get('payment-required') ?? '', headers.get('www-authenticate') ?? '')
    }
    for (const pay of [payWithX402, payWithMppx]) {
      await Promise.all(Array.from({ length: busyRequests }, ask))
      const { response } = await pay(url, payer)
      expect([response.status, await response.text()]).toEqual([200, 'the secret'])
    }
    // No client gets a challenge, or a secret, of another one.
    expect(challenges.every((challenge) => challenge.length > 100)).toBe(true)
    expect(new Set(challenges).size).toBe(4 * busyRequests)
    await shop.close()
  },
)
