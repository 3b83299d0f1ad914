/** A purchase that a browser may open again for some minutes: only this browser, only this address, only so long. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CheckoutFacts } from '../../src/core/checkout/messages.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { openLedger } from '../../src/ledger/open.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { createLocalnetFixture, memo } from '../harness/localnet-fixture.ts'
import { post, signMessage } from '../harness/message.ts'
import { payFromPhone } from '../harness/purchase.ts'
import { codeOf, eventually } from '../harness/shop.ts'
import type { ShopFixture } from '../harness/shop-fixture.ts'
import { createShopFixture, expectRefused, expectServed } from '../harness/shop-fixture.ts'
import { createVisitor, plainName, type Visitor } from '../harness/visitor.ts'
import { planOf } from '../ledger/payables-fixture.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

const reopen = { minutes: 10 }
const open = (options: Partial<ProviderOptions> = {}) => fixture.open({ watch: true, reopen, ...options })
/** Time passes, until the service has noticed. */
async function pass(url: string, seconds: number): Promise<void> {
  const { localnet } = fixture.world
  localnet.advance(seconds)
  const readClock = async () => (await createVisitor(url).go('/clock')).facts().now
  await eventually(readClock, (now) => now > localnet.now() - 1_000, 300)
}

interface Bought {
  readonly visitor: Visitor
  readonly requestId: string
  readonly tx: string
  /** The header that a program would send with the secret of the cookie. */
  readonly proof: string
}

const payHere = (facts: CheckoutFacts) => payFromPhone(fixture.world, fixture.payer, facts)

/** A person buys an address, and has not opened it yet. */
async function buy(url: string, path = '/data', pay = payHere): Promise<Bought> {
  const visitor = createVisitor(url)
  const facts = (await visitor.go(path)).facts()
  const tx = await pay(facts)
  await visitor.until(facts.requestId, 'paid', path)
  const [, secret = ''] = (visitor.cookies.get(plainName(path)) ?? '').split('~')[0]?.split('.') ?? []
  const { requestId } = facts
  return {
    visitor,
    requestId,
    tx,
    proof: `tx=${tx}; requestId=${requestId}; payer=${fixture.payer.address}; claim=${secret}`,
  }
}

/** A ledger in memory that the test can reach, too. */
async function openOwnLedger({ localnet } = fixture.world): Promise<Ledger> {
  const clock = { now: localnet.now, monotonic: () => performance.now() }
  const identity = { network: 'localnet', service: 'default', fingerprint: 'any', reportToken: 'USDC' } as const
  const ledger = await openLedger('memory:', { clock, identity })
  fixture.defer(() => ledger.close())
  return ledger
}

const isServed = async (visitor: Visitor, path = '/data') => (await visitor.go(path)).text === 'the secret'
const headerOf = ({ cookies }: Visitor) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

describe('a purchase that can be opened again', () => {
  it('T186: is open for the same browser until its minutes are over, counted from the first time', async () => {
    const { url } = await open()
    const { visitor, requestId } = await buy(url)
    await pass(url, 3_600)
    expect(await isServed(visitor)).toBe(true)
    await pass(url, 590)
    expect([await isServed(visitor), await isServed(visitor)]).toEqual([true, true])
    await pass(url, 11)
    const page = await visitor.go()
    expect([page.status, page.facts().bought]).toEqual([402, requestId])
    expect(page.facts().requestId).not.toBe(requestId)
  })

  it('T186: says on the page how long it lasts', async () => {
    const { url } = await open()
    expect((await createVisitor(url).go()).facts().buys).toBe('10 minutes of access')
  })

  it('T186: is closed to another browser, and to a client that saw the payment on chain', async () => {
    const { url } = await open()
    const { visitor, tx, requestId } = await buy(url)
    expect(await isServed(visitor)).toBe(true)
    expect(await isServed(createVisitor(url))).toBe(false)
    const copied = `tx=${tx}; requestId=${requestId}; payer=${fixture.payer.address}`
    expect(await codeOf(await fetch(`${url}/data`, { headers: { 'Payment-Proof': copied } }))).toBe(
      '403 claim_required',
    )
  })

  it.each<[string, Partial<ProviderOptions>]>([
    ['a payment is for one request', {}],
    ['a payment is for a path', { bind: 'path' }],
    ['the route has a name', { scope: 'reports' }],
  ])('T186: opens no other address, where %s', async (_name, options) => {
    const { url } = await open(options)
    const { visitor, proof } = await buy(url, '/data?page=1')
    expect(await isServed(visitor, '/data?page=1')).toBe(true)
    const value = visitor.cookies.get(plainName('/data?page=1'))
    for (const path of ['/data?page=2', '/data', '/other?page=1']) {
      // The cookie under the name of the other address, and its secret in a proof.
      const page = await createVisitor(url).go(path, { Cookie: `${plainName(path)}=${value}` })
      expect([page.status, page.text.includes('the secret')]).toEqual([402, false])
      await expectRefused(fetch(`${url}${path}`, { headers: { 'Payment-Proof': proof } }), 'binding_mismatch')
    }
    expect(await isServed(visitor, '/data?page=1')).toBe(true)
  })

  it('T186: opens no other route and no other method', async () => {
    const ledger = join(fixture.directory, 'routes.sqlite')
    const shared = { ledger, secret: `1:${'ab'.repeat(32)}` }
    const [one, other] = [await open({ ...shared, scope: 'one' }), await open({ ...shared, scope: 'other' })]
    const { visitor, proof } = await buy(one.url)
    expect(await isServed(visitor)).toBe(true)
    expect((await createVisitor(other.url, visitor.cookies).go()).status).toBe(402)
    await expectRefused(fetch(`${other.url}/data`, { headers: { 'Payment-Proof': proof } }), 'binding_mismatch')
    const posted = fetch(`${one.url}/data`, { method: 'POST', headers: { 'Payment-Proof': proof } })
    await expectRefused(posted, 'binding_mismatch')
  })

  it('T186: ends at the same time on every server of a ledger, whoever shares the cookie', async () => {
    const shared = { ledger: join(fixture.directory, 'replicas.sqlite'), secret: `1:${'ef'.repeat(32)}` }
    const [one, other] = [await open(shared), await open(shared)]
    const { visitor } = await buy(one.url)
    expect(await isServed(visitor)).toBe(true)
    await pass(one.url, 500)
    const friend = () => createVisitor(other.url).go('/data', { Cookie: headerOf(visitor) })
    expect((await friend()).text).toBe('the secret')
    await Promise.all([pass(one.url, 101), pass(other.url, 0)])
    expect([(await friend()).status, (await visitor.go()).status]).toEqual([402, 402])
  })

  it('T186: is not sold to programs, which still buy one request', async () => {
    const shop = await open()
    const challenge = await shop.challenge()
    expect(challenge.allowance).toEqual({ unit: 'request', amount: '1' })
    const proof = await shop.buy(fixture.payer)
    await expectServed(shop.claim(proof))
    await expectRefused(shop.claim(proof), 'payment_replay')
  })

  it('T186: is not served after a fork took the payment back, until the payment is final again', async () => {
    // Slots end only when the test says so: otherwise, the payment would be final again on a slow machine.
    const world = await createLocalnetFixture({ slotMs: 86_400_000 })
    fixture.defer(world.close)
    const payer = await world.person()
    const ledger = await openOwnLedger(world)
    const { url } = await open({ ledger, rpc: world.localnet.rpcUrl, recipient: world.recipient.address })
    const { visitor, tx } = await buy(url, '/data', async ({ requestId, recipient }) => {
      const transfer = await world.transfer(payer, recipient, 'USDC', 10_000n)
      const signed = await signMessage(world, [memo(requestId), transfer], payer)
      await post(world, signed)
      world.localnet.advance(0, 1)
      return signed.signature
    })
    expect(await isServed(visitor)).toBe(true)
    const bytes = decodeSignature(tx) ?? new Uint8Array()
    await ledger.journal.conclude([{ tx: bytes, finality: 'reverted' }])
    expect(await isServed(visitor)).toBe(false)
    world.localnet.advanceSlots(40)
    expect(await isServed(visitor)).toBe(true)
  })

  it('T186: cannot be refunded once it was opened', async () => {
    const ledger = await openOwnLedger()
    const { url } = await open({ ledger })
    const { visitor, tx } = await buy(url)
    expect(await isServed(visitor)).toBe(true)
    const voids = decodeSignature(tx) ?? new Uint8Array()
    const planned = await ledger.outgoing.plan(planOf({ kind: 'refund', lockKey: 'refund:1', voids }))
    expect(planned.kind).toBe('in_use')
  })
})
