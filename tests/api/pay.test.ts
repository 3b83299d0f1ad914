/** `/pay/<requestId>`: for people whose programs ask them to pay, and for wallets on phones. */
import { getBase64Encoder, getTransactionDecoder, getTransactionEncoder, partiallySignTransaction } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readWebIncoming } from '../../src/adapters/web.ts'
import type { Routes } from '../../src/api/router.ts'
import { openRoutes } from '../../src/compose/api.ts'
import { openPaywall } from '../../src/compose/paywall.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { Shop } from '../harness/shop.ts'
import { eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
let shop: Shop
let routes: Routes
const publicUrl = 'https://shop.example'
beforeAll(async () => {
  fixture = await createShopFixture()
  const { rpcUrl } = fixture.world.localnet
  const shared = { network: 'localnet', rpc: rpcUrl, ledger: `${fixture.directory}/pay.sqlite`, watch: true } as const
  shop = await fixture.open({ ...shared, publicUrl, description: 'A report', acceptedMints: ['USDC', 'SOL'] })
  routes = openRoutes({ ...shared, publicUrl, log: fixture.log })
})
afterAll(async () => {
  await routes?.close()
  await fixture?.close()
})

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return routes.handle(new Request(`${publicUrl}${path}`, init), { peer: '192.0.2.7', isLoopback: false })
}
const pathOf = ({ payUrl }: Challenge) => new URL(payUrl ?? '').pathname
const post = (path: string, body: unknown) =>
  ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

it('is where payUrl leads from the first challenge on, which waits for the service to start', async () => {
  const { rpcUrl } = fixture.world.localnet
  const shared = { network: 'localnet', rpc: rpcUrl, ledger: `${fixture.directory}/first.sqlite`, publicUrl } as const
  const first = openRoutes({ ...shared, log: fixture.log })
  const recipient = fixture.world.recipient.address
  const paywall = openPaywall({ ...shared, price: 0.01, token: 'USDC', recipient, log: fixture.log })
  const entry = await paywall.enter(readWebIncoming(new Request(`${publicUrl}/data`)))
  expect(JSON.parse(entry.kind === 'answer' ? entry.body : '{}').payUrl).toMatch(`${publicUrl}/pay/`)
  await paywall.close()
  await first.close()
})

it('is where payUrl leads, and shows the price to a person', async () => {
  const challenge = await shop.challenge()
  expect(challenge.payUrl).toBe(`${publicUrl}/pay/${challenge.requestId}`)
  const page = await ask(pathOf(challenge), { headers: { Accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.getSetCookie()).toEqual([])
  const text = await page.text()
  for (const fact of [challenge.requestId, challenge.recipient, 'A report', 'shop.example'])
    expect(text).toContain(fact)
})

it('drafts a transaction with all parts of a split price, and offers phones only that', async () => {
  const { world, payer } = fixture
  const partner = await world.person()
  const split = await fixture.open({
    ...{ network: 'localnet', rpc: world.localnet.rpcUrl, ledger: `${fixture.directory}/pay.sqlite`, watch: true },
    ...{ publicUrl, scope: 'split', splits: [{ recipient: partner.address, share: 10 }] },
  })
  const challenge = await split.challenge()
  expect(challenge.payUrl).toBe(`${publicUrl}/pay/${challenge.requestId}`)
  const page = await (await ask(pathOf(challenge), { headers: { Accept: 'text/html' } })).text()
  expect(page).toContain('href="solana:https%3A%2F%2Fshop.example%2Fpay%2F')
  expect(page).toContain('a wallet in this browser or on your phone')
  const { transaction } = (await (await post(pathOf(challenge), { account: payer.address })).json()) as {
    transaction: string
  }
  const decoded = getTransactionDecoder().decode(getBase64Encoder().encode(transaction))
  const signed = await partiallySignTransaction([payer.keyPair], decoded)
  const wire = Buffer.from(getTransactionEncoder().encode(signed)).toString('base64')
  const tx = await world.rpc<string>('sendTransaction', [
    wire,
    { encoding: 'base64', preflightCommitment: 'confirmed' },
  ])
  const claim = () => split.claim(`tx=${tx}; requestId=${challenge.requestId}; payer=${payer.address}`)
  const response = await eventually(claim, ({ status }) => status === 200)
  expect(await response.text()).toBe('the secret')
})

it('drafts the transaction for a phone, and its payment admits the program', async () => {
  const challenge = await shop.challenge()
  const path = pathOf(challenge)
  const about = await ask(path)
  expect(about.headers.get('access-control-allow-origin')).toBe('*')
  const { label, icon } = (await about.json()) as { label: string; icon: string }
  expect([label, icon]).toEqual(['A report', `${publicUrl}/pay/icon.svg`])
  expect((await ask('/pay/icon.svg')).headers.get('content-type')).toBe('image/svg+xml')
  const drafted = await post(path, { account: fixture.payer.address })
  const { transaction } = (await drafted.json()) as { transaction: string }
  const decoded = getTransactionDecoder().decode(getBase64Encoder().encode(transaction))
  const signed = await partiallySignTransaction([fixture.payer.keyPair], decoded)
  const wire = Buffer.from(getTransactionEncoder().encode(signed)).toString('base64')
  const tx = await fixture.world.rpc<string>('sendTransaction', [
    wire,
    { encoding: 'base64', preflightCommitment: 'confirmed' },
  ])
  const proof = `tx=${tx}; requestId=${challenge.requestId}; payer=${fixture.payer.address}`
  const served = await eventually(
    () => shop.claim(proof),
    ({ status }) => status === 200,
  )
  expect(await served.text()).toBe('the secret')
  const again = await post(path, { account: fixture.payer.address })
  expect([again.status, Object.keys((await again.json()) as object)]).toEqual([409, ['message']])
})

it('does not reveal the delivery to strangers that read the requestId on chain', async () => {
  const challenge = await shop.challenge()
  const path = pathOf(challenge)
  const tx = await fixture.world.pay(challenge, fixture.payer)
  const proof = `tx=${tx}; requestId=${challenge.requestId}; payer=${fixture.payer.address}`
  const status = async () =>
    (await ask(path, { headers: { 'Payment-Checkout': `status; requestId=${challenge.requestId}` } })).json()
  await eventually(status, (told) => (told as { state: string }).state === 'paid')
  const served = await eventually(
    () => shop.claim(proof),
    (response) => response.status === 200,
  )
  await served.text()
  const again = await eventually(
    () => shop.claim(proof),
    (response) => response.status === 409,
  )
  await again.text()
  expect(await status()).toEqual({ state: 'paid', tx })
  const page = await (await ask(path, { headers: { Accept: 'text/html' } })).text()
  expect(page).toContain('"state":"paid"')
  expect(page).not.toContain('"state":"used"')
})

it('explains the problem', async () => {
  const challenge = await shop.challenge()
  const path = pathOf(challenge)
  const cases: readonly (readonly [Promise<Response>, number])[] = [
    [ask('/pay/nothing'), 404],
    [ask(path, { method: 'DELETE' }), 405],
    [post(path, { account: 'nobody' }), 400],
    [post(`${path}?token=EUR`, { account: fixture.payer.address }), 400],
    [post(path, { account: 'J2Yw5ebd47FLtuJVpjSkcoRBuFEBNJZxs63jAFVTjBjV' }), 409],
    [ask(path, { method: 'OPTIONS' }), 204],
  ]
  for (const [answer, status] of cases) expect((await answer).status).toBe(status)
  expect((await post(`${path}?token=SOL`, { account: fixture.payer.address })).status).toBe(200)
})

it('gives no receipt to a client that knows only the requestId, which is public on the chain', async () => {
  const challenge = await shop.challenge()
  await fixture.world.pay(challenge, fixture.payer)
  const order = (kind: string) =>
    ask(pathOf(challenge), { headers: { 'Payment-Checkout': `${kind}; requestId=${challenge.requestId}` } })
  await eventually(
    async () => (await (await order('status')).json()).state,
    (state) => state === 'paid',
  )
  const refused = await order('receipt')
  expect([refused.status, (await refused.json()).code]).toEqual([403, 'claim_required'])
})

it('tells a person on a page that a link is invalid, and leads back to the seller from a valid one', async () => {
  const seller = { name: 'Moon Almanac', returnUrl: 'https://moon.example/thanks' }
  const { rpcUrl } = fixture.world.localnet
  const shared = { network: 'localnet', rpc: rpcUrl, ledger: `${fixture.directory}/pay.sqlite`, watch: true } as const
  const branded = await fixture.open({ ...shared, publicUrl, scope: 'branded', seller })
  const person = { headers: { Accept: 'text/html' } }
  const wrong = await ask('/pay/wrong', person)
  expect([wrong.status, wrong.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(await wrong.text()).toContain('the link is no longer valid')
  const challenge = await branded.challenge()
  expect(await (await ask(pathOf(challenge))).json()).toMatchObject({ label: seller.name })
  await fixture.world.pay(challenge, fixture.payer)
  // The script of the page has the words of the link, too.
  const link = `href="${seller.returnUrl}">Return to the seller</a>`
  const hasLink = async () => (await (await ask(pathOf(challenge), person)).text()).includes(link)
  expect(await eventually(hasLink, (isThere) => isThere)).toBe(true)
})
