/** What strangers could make a checkout do for them, or to others. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { address, type Instruction, type KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/node.ts'
import { createPaystileRoutes } from '../../src/adapters/routes.ts'
import {
  type CheckoutOrder,
  type CheckoutState,
  formatOrder,
  type Preparation,
  type Sending,
} from '../../src/core/checkout/messages.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Serve } from '../harness/adapters.ts'
import { cells } from '../harness/length.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { signDraft } from '../harness/purchase.ts'
import { eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'
import { createVisitor } from '../harness/visitor.ts'
import { signedBytes } from './checkout-hand.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

const many = <Value>(times: number, ask: () => Promise<Value>) => Promise.all(Array.from({ length: times }, ask))

/** A shop with the service's own addresses beside it. */
async function openWhole(more: Partial<ProviderOptions> = {}) {
  const { world, log } = shop
  const shared = {
    network: 'localnet',
    rpc: world.localnet.rpcUrl,
    ledger: join(shop.directory, `whole-${Math.random()}.sqlite`),
    log,
    publicUrl: 'http://shop.example',
  } as const
  const routes = createPaystileRoutes(shared)
  const recipient = world.recipient.address
  const paid = create402Middleware({ ...shared, price: 0.01, token: 'USDC', recipient, waitSeconds: 0, ...more })
  await paid.ready()
  const server = createServer((request, response) =>
    routes.listener(request, response, () => paid(request, response, () => response.end('the secret'))),
  )
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  shop.defer(async () => {
    server.closeAllConnections()
    server.close()
    await routes.close()
    await paid.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let whole: string
beforeAll(async () => {
  whole = await openWhole()
})

it('pages at /pay and drafts for wallets are limited for each client, as they are elsewhere', async () => {
  const url = await openWhole()
  const { requestId } = await (await fetch(`${url}/data`)).json()
  const page = () => fetch(`${url}/pay/${requestId}`, { headers: { Accept: 'text/html' } })
  const draft = () =>
    fetch(`${url}/pay/${requestId}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ account: shop.payer.address }),
    })
  expect([(await page()).status, (await draft()).status]).toEqual([200, 200])
  const pages = await many(200, page)
  expect(pages.filter(({ status }) => status === 429).length).toBeGreaterThan(50)
  const drafts = await many(100, draft)
  expect(drafts.filter(({ status }) => status === 429).length).toBeGreaterThan(30)
})

it('where addresses are not known, one client does not lock out all', async () => {
  const next = adapters.find(([name]) => name === 'Next')?.[1] as Serve
  const { url } = await shop.open({ watch: true, trustProxy: 0 }, next)
  const honest = createVisitor(url)
  const { requestId } = (await honest.go()).facts()
  const flood = createVisitor(url)
  const own = (await flood.go()).facts()
  await many(60, () => flood.prepare(own.requestId, 'nonsense'))
  expect(await honest.prepare(requestId, shop.payer.address)).toMatchObject({ kind: 'transaction' })
})

it('asking for a payment that never lands costs the nodes little', async () => {
  const fakeNode = await shop.fakeNode()
  const { url } = await shop.open({ watch: false, rpc: fakeNode.url })
  const visitor = createVisitor(url)
  const { requestId } = (await visitor.go()).facts()
  // The node swallows it.
  fakeNode.behave(async (question, ask) =>
    question.method === 'sendTransaction' ? { status: 503, body: '' } : await ask(),
  )
  const { payer, world } = shop
  const transfer = await world.transfer(payer, world.recipient.address, 'USDC', 10_000n)
  const bytes = await signedBytes(world, [memo(requestId), transfer], payer)
  await visitor.submit(requestId, bytes)
  const before = fakeNode.asked.length
  await many(50, () => visitor.status(requestId))
  const asked = fakeNode.asked.slice(before)
  expect(asked.filter((method) => method === 'getBlockHeight').length).toBeLessThan(5)
})

/** As the page at /pay speaks, which anybody with the link can. */
function atPay(url: string, requestId: string) {
  const order = async <Result>(wanted: CheckoutOrder): Promise<Result> => {
    const response = await fetch(`${url}/pay/${requestId}`, { headers: { 'Payment-Checkout': formatOrder(wanted) } })
    return (await response.json()) as Result
  }
  return {
    prepare: (account: string) => order<Preparation>({ kind: 'prepare', requestId, token: 'USDC', account }),
    submit: (bytes: Uint8Array) => {
      const transaction = Buffer.from(bytes).toString('base64url')
      return order<Sending>({ kind: 'submit', requestId, transaction })
    },
    status: () => order<CheckoutState>({ kind: 'status', requestId }),
  }
}

type Move = (stranger: KeyPairSigner, requestId: string) => Promise<readonly Instruction[]>
const transferOf = (stranger: KeyPairSigner, units: bigint, to = shop.world.recipient.address) =>
  shop.world.transfer(stranger, to, 'USDC', units)

it.each<[string, RegExp, Move]>([
  [
    'the stranger has less than it sends',
    /would fail on chain/,
    async (stranger, requestId) => [memo(requestId), await transferOf(stranger, 10n ** 15n)],
  ],
  [
    'a later instruction fails',
    /would fail on chain/,
    async (stranger, requestId) => [
      memo(requestId),
      await transferOf(stranger, 10_000n),
      await transferOf(stranger, 10n ** 15n),
    ],
  ],
  ['it pays nothing', /did not return/, async (_stranger, requestId) => [memo(requestId)]],
  [
    'it pays too little',
    /did not return/,
    async (stranger, requestId) => [memo(requestId), await transferOf(stranger, 9_999n)],
  ],
  [
    'it pays somebody else',
    /did not return/,
    async (stranger, requestId) => [memo(requestId), await transferOf(stranger, 10_000n, shop.payer.address)],
  ],
  [
    'its memo is not one',
    /did not return/,
    async (stranger, requestId) => [
      { ...memo(requestId), programAddress: address('ComputeBudget111111111111111111111111111111') },
      await transferOf(stranger, 10_000n),
    ],
  ],
])('T180: a transaction that a stranger has signed does not hold up the purchase: %s', async (_name, why, move) => {
  const { world, payer } = shop
  const url = whole
  const { requestId } = (await (await fetch(`${url}/data`)).json()) as Challenge
  const page = atPay(url, requestId)
  const stranger = await world.person()
  const bytes = await signedBytes(world, await move(stranger, requestId), stranger)
  expect(await page.submit(bytes)).toEqual({ kind: 'refused', why: expect.stringMatching(why) })
  expect(await page.status()).toEqual({ state: 'waiting' })
  const signed = await signDraft(await page.prepare(payer.address), payer)
  expect(await page.submit(signed)).toMatchObject({ kind: 'sent' })
  await eventually(page.status, ({ state }) => state === 'paid')
})

it('a requestId that only its payer’s signature can claim is not sold on a page', async () => {
  const url = await openWhole({ proofBinding: 'required' })
  const challenge = await (await fetch(`${url}/data`)).json()
  expect(challenge.proof).toEqual(['sig'])
  expect(challenge.payUrl).toMatch(/^solana:/)
  const page = await fetch(`${url}/pay/${challenge.requestId}`, { headers: { Accept: 'text/html' } })
  const text = await page.text()
  expect([page.status, text.includes('signature_required'), text.includes('id="pay"')]).toEqual([403, true, false])
})

it.each(cells([false, true], 2, 1))(
  'T178: a browser keeps few cookies, and those of payments among them (https: %s)',
  async (isSecure) => {
    const publicUrl = isSecure ? 'https://shop.example' : 'http://shop.example'
    const ledger = join(shop.directory, `cookies-${isSecure}.sqlite`)
    const shared = { watch: true, publicUrl, ledger, secret: `1:${'ab'.repeat(32)}` }
    const [one, other] = [await shop.open({ ...shared, scope: 'one' }), await shop.open({ ...shared, scope: 'other' })]
    const visitor = createVisitor(one.url)
    const { world, payer } = shop
    const facts = (await visitor.go('/data?q=paid')).facts()
    await world.send([memo(facts.requestId), await world.transfer(payer, facts.recipient, 'USDC', 10_000n)], payer)
    await visitor.until(facts.requestId, 'paid', '/data?q=paid')
    // Another route of the host, which the same cookies reach.
    const at = createVisitor(other.url, visitor.cookies)
    for (let query = 0; query < 60; query += 1) {
      const who = query % 2 === 0 ? visitor : at
      expect((await who.go(`/data?q=${query}`, { 'X-Forwarded-For': `10.0.${query}.1` })).status).toBe(402)
    }
    expect(visitor.cookies.size).toBe(16)
    expect([...visitor.cookies].join('; ').length).toBeLessThanOrEqual(4_096)
    expect((await visitor.go('/data?q=paid')).status).toBe(200)
  },
)
