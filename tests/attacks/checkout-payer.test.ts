/** What could cost a person at the checkout their money, without anybody stealing it. */
import type { KeyPairSigner } from '@solana/kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CheckoutFacts } from '../../src/core/checkout/messages.ts'
import { notFinal } from '../harness/fake-node.ts'
import { memo } from '../harness/localnet-fixture.ts'
import { payFromPhone, signDraft } from '../harness/purchase.ts'
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

const open = (options = {}) => shop.open({ watch: true, ...options })

const payFrom = (payer: KeyPairSigner, facts: CheckoutFacts, units?: bigint) =>
  payFromPhone(shop.world, payer, facts, units)

it('a service below a path of its host keeps the ticket where the browser sends it back', async () => {
  const { url } = await open({ publicUrl: 'http://shop.example/store' })
  const [cookie = ''] = (await createVisitor(url).go('/data?a=1')).headers.getSetCookie()
  expect(cookie).toContain('; Path=/store/data; ')
})

it('a tab with a ticket that another tab has overwritten offers no payment', async () => {
  const { url } = await open()
  const browser = createVisitor(url)
  // Two tabs that a browser opens at the same time: neither has a cookie to send, and the last answer wins.
  const first = (await createVisitor(url).go()).facts()
  const second = (await browser.go()).facts()
  const { payer } = shop
  expect(await browser.status(first.requestId)).toMatchObject({ code: 'claim_required' })
  expect(await browser.prepare(first.requestId, payer.address)).toMatchObject({ code: 'claim_required' })
  const order = { kind: 'test', requestId: first.requestId, token: 'USDC' } as const
  expect(await browser.order(order)).toMatchObject({ code: 'claim_required' })
  expect(await browser.status(second.requestId)).toEqual({ state: 'waiting' })
  // What was paid all the same is told, and not passed over.
  const tx = await payFrom(payer, first)
  expect(await browser.until(first.requestId, 'stranded')).toEqual({ state: 'stranded', tx })
})

it('a browser that keeps no cookies is told so before anything is paid', async () => {
  const { url } = await open()
  const browser = createVisitor(url)
  const { requestId } = (await browser.go()).facts()
  const without = createVisitor(url)
  expect(await without.prepare(requestId, shop.payer.address)).toMatchObject({ code: 'claim_required' })
})

it('T206: an old reading of the watcher asks no person to pay again', async () => {
  const { url } = await open()
  const visitor = createVisitor(url)
  const { faults } = shop.world.localnet
  faults.intercept((method, _params, answer) => {
    if (method !== 'getTransaction' || !('result' in answer) || !answer.result) return answer
    const result = answer.result as { readonly meta: { readonly preTokenBalances: unknown } }
    return { result: { ...result, meta: { ...result.meta, postTokenBalances: result.meta.preTokenBalances } } }
  })
  const facts = (await visitor.go()).facts()
  const tx = await payFrom(shop.payer, facts)
  await visitor.until(facts.requestId, 'short')
  faults.clear()
  expect(await visitor.status(facts.requestId)).toMatchObject({ state: 'paid', tx })
})

it('a transaction that was signed before the quote expired is not sent after it', async () => {
  const { url } = await open({ challengeTtlSeconds: 120 })
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  await payFrom(shop.payer, facts, 4_000n)
  await visitor.until(facts.requestId, 'short')
  const signed = await signDraft(await visitor.prepare(facts.requestId, shop.payer.address), shop.payer)
  shop.world.localnet.advance(121, 1)
  // The service follows the time of the chain.
  await eventually(
    async () => (await createVisitor(url).go()).facts().now,
    (now) => now >= facts.expiresAt,
  )
  expect(await visitor.submit(facts.requestId, signed)).toMatchObject({ kind: 'refused' })
})

it('a transaction that would land too late is not sent again', async () => {
  const fakeNode = await shop.fakeNode()
  const { url } = await shop.open({ watch: false, rpc: fakeNode.url, challengeTtlSeconds: 120 })
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  // A node that does not pass on what it is given.
  fakeNode.behave((question, ask) => (question.method === 'sendTransaction' ? { status: 503, body: '' } : ask()))
  const signed = await signDraft(await visitor.prepare(facts.requestId, shop.payer.address), shop.payer)
  await visitor.submit(facts.requestId, signed)
  shop.world.localnet.advance(190, 1)
  await eventually(
    async () => (await createVisitor(url).go()).facts().now,
    (now) => now >= facts.expiresAt + 60_000,
  )
  const before = fakeNode.asked.filter((method) => method === 'sendTransaction').length
  expect(await visitor.status(facts.requestId)).toMatchObject({ state: 'confirming' })
  expect(fakeNode.asked.filter((method) => method === 'sendTransaction')).toHaveLength(before)
})

it('a transaction that landed and paid too little does not stand in the way of the next', async () => {
  const { url } = await open()
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  const { world, payer } = shop
  // As a wallet would that has changed the amount: we do not send it, and it may come by another way.
  const transfer = await world.transfer(payer, facts.recipient, 'USDC', 4_000n)
  const bytes = await signedBytes(world, [memo(facts.requestId), transfer], payer)
  expect(await visitor.submit(facts.requestId, bytes)).toMatchObject({ kind: 'refused' })
  const wire = Buffer.from(bytes).toString('base64')
  await world.rpc('sendTransaction', [wire, { encoding: 'base64', preflightCommitment: 'confirmed' }])
  await visitor.until(facts.requestId, 'short')
  const signed = await signDraft(await visitor.prepare(facts.requestId, payer.address), payer)
  expect(await visitor.submit(facts.requestId, signed)).toMatchObject({ kind: 'sent' })
  await visitor.until(facts.requestId, 'paid')
  expect((await visitor.go()).text).toBe('the secret')
})

it('T180: a payment in two parts is taken, as by a wallet that makes the transfer its own way', async () => {
  const { url } = await open()
  const visitor = createVisitor(url)
  const { requestId, recipient } = (await visitor.go()).facts()
  const { world, payer } = shop
  const part = async (units: bigint) => world.transfer(payer, recipient, 'USDC', units)
  const bytes = await signedBytes(world, [await part(4_000n), await part(6_000n), memo(requestId)], payer)
  expect(await visitor.submit(requestId, bytes)).toMatchObject({ kind: 'sent' })
  await visitor.until(requestId, 'paid')
})

it('T180: a transaction that the wallet has already sent counts as sent', async () => {
  const { url } = await open({ watch: false })
  const visitor = createVisitor(url)
  const { requestId } = (await visitor.go()).facts()
  const signed = await signDraft(await visitor.prepare(requestId, shop.payer.address), shop.payer)
  const wire = Buffer.from(signed).toString('base64')
  await shop.world.rpc('sendTransaction', [wire, { encoding: 'base64', preflightCommitment: 'confirmed' }])
  expect(await visitor.submit(requestId, signed)).toMatchObject({ kind: 'sent' })
  await visitor.until(requestId, 'paid')
})

it('T180: nodes see a signed transaction only when it is the one that is sent', async () => {
  const fakeNode = await shop.fakeNode()
  const { url } = await shop.open({ watch: false, rpc: fakeNode.url })
  const visitor = createVisitor(url)
  const { requestId } = (await visitor.go()).facts()
  const signed = await signDraft(await visitor.prepare(requestId, shop.payer.address), shop.payer)
  const tried: Buffer[] = []
  fakeNode.behave((question, ask) => {
    if (question.method === 'simulateTransaction') tried.push(Buffer.from(String(question.params[0]), 'base64'))
    return ask()
  })
  expect(await visitor.submit(requestId, signed)).toMatchObject({ kind: 'sent' })
  expect(tried).toHaveLength(1)
  expect(tried[0]?.subarray(65)).toEqual(Buffer.from(signed.subarray(65)))
  expect(tried[0]?.subarray(1, 65)).toEqual(Buffer.alloc(64))
})

it('a payment is found however much dust strangers send after it under its memo', async () => {
  const { url } = await open()
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  const { world } = shop
  await payFrom(shop.payer, facts)
  const stranger = await world.person()
  for (let amount = 1n; amount <= 12n; amount += 1n) await payFrom(stranger, facts, amount)
  // The page was closed meanwhile. Once the last of the dust is seen, all of it is.
  const other = createVisitor(url)
  const last = (await other.go()).facts()
  await payFrom(stranger, last, 1n)
  await other.until(last.requestId, 'short')
  expect((await visitor.go()).status).toBe(200)
})

it('T211: a transaction that never landed hides no payment that is not final yet', async () => {
  const fakeNode = await shop.fakeNode()
  const { url } = await shop.open({ rpc: fakeNode.url, challengeTtlSeconds: 3_600, finalizedFrom: 0 })
  const visitor = createVisitor(url)
  const facts = (await visitor.go()).facts()
  const { world, payer } = shop
  const { requestId } = facts
  fakeNode.behave((question, ask) => (question.method === 'sendTransaction' ? { status: 503, body: '' } : ask()))
  await visitor.submit(requestId, await signDraft(await visitor.prepare(requestId, payer.address), payer))
  expect(await visitor.status(requestId)).toMatchObject({ state: 'confirming' })
  world.localnet.advance(240, 600)
  await visitor.until(requestId, 'waiting')
  fakeNode.behave(notFinal)
  const tx = await payFrom(payer, facts)
  const hint = { kind: 'status', requestId, tx } as const
  expect(await visitor.order(hint)).toEqual({ state: 'confirming', tx })
  expect(await visitor.prepare(requestId, payer.address)).toEqual({ kind: 'state', state: 'confirming', tx })
  fakeNode.behave(undefined)
  expect(await visitor.until(requestId, 'paid')).toEqual({ state: 'paid', tx })
})
