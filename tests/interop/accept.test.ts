/** Unmodified clients of other protocols pay for one route, on every adapter and ledger. */
import { join } from 'node:path'
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseReceipt } from '../../src/core/protocol/receipt.ts'
import { adapters } from '../harness/adapters.ts'
import { postgresServer } from '../harness/database.ts'
import { cells } from '../harness/length.ts'
import { createLocalnetFixture, type LocalnetFixture } from '../harness/localnet-fixture.ts'
import { openShop, type Shop, useTemporaryHome } from '../harness/shop.ts'
import { type PaidResponse, type Payer, payWithMppx, payWithPayKit, payWithX402, payWithX402V1 } from './clients.ts'

const home = useTemporaryHome()
let world: LocalnetFixture
let signer: KeyPairSigner

beforeAll(async () => {
  world = await createLocalnetFixture()
  signer = await generateKeyPairSigner()
  // No SOL: the service pays the fees.
  await world.localnet.fund(signer.address, { USDC: 100_000_000n })
})
afterAll(async () => {
  await world.close()
  home.remove()
})

type Pay = (url: string, payer: Payer) => Promise<PaidResponse>
const clients: readonly (readonly [name: string, pay: Pay])[] = [
  ['@x402/fetch', payWithX402],
  ['x402-fetch (v1)', payWithX402V1],
  ['mppx with @solana/mpp', payWithMppx],
  ['pay-kit over x402', (url, payer) => payWithPayKit(url, { ...payer, protocol: 'x402' })],
  ['pay-kit over MPP', (url, payer) => payWithPayKit(url, { ...payer, protocol: 'mpp' })],
]
const ledgers: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ['SQLite', async () => `sqlite:${join(home.path, `${crypto.randomUUID()}.sqlite`)}`],
  ['PostgreSQL', () => postgresServer().place()],
]
const places = adapters.flatMap(([adapter, serve], row) =>
  cells(ledgers, ledgers.length, row).map(([ledger, url]) => [`${adapter} on ${ledger}`, serve, url, row] as const),
)

describe.each(places)('%s', (_name, serve, ledger, row) => {
  let shop: Shop
  beforeAll(async () => {
    const options = { ledger: await ledger(), sponsor: true, x402: { v1: true } } as const
    shop = await openShop(world, serve, () => ({ body: 'the secret' }), options)
  })
  afterAll(() => shop.close())

  it.each(cells(clients, clients.length / 2, row))(
    'sells to %s without SOL, for one credential',
    async (_client, pay) => {
      const { response, credentials } = await pay(`${shop.url}/data?a=1`, { rpcUrl: world.localnet.rpcUrl, signer })
      expect([response.status, await response.text()]).toEqual([200, 'the secret'])
      expect(credentials).toHaveLength(1)
      expect(parseReceipt(response.headers.get('payment-receipt') ?? '')).toMatchObject({
        amount: '0.01',
        token: 'USDC',
      })
    },
  )
})

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
  const payer = { rpcUrl: world.localnet.rpcUrl, signer }
  const { response } = await payWithX402(`${shop.url}/data`, payer, { method: 'POST', body: 'a question' })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  await shop.close()
})

it('waits for finality where the price needs it, because the client asks once', async () => {
  const [, serve] = adapters[5] ?? expect.fail('no adapter')
  const options = { sponsor: true, finalizedFrom: 0, waitSeconds: 0.1 } as const
  const shop = await openShop(world, serve, () => ({ body: 'the secret' }), options)
  const { response } = await payWithX402(`${shop.url}/data`, { rpcUrl: world.localnet.rpcUrl, signer })
  expect([response.status, await response.text()]).toEqual([200, 'the secret'])
  await shop.close()
})
