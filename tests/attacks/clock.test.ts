/** A server whose clock is wrong sells nothing, and honours what was paid. The chain is right, and the server's clock is not. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create402Middleware } from '../../src/adapters/next.ts'
import { createPayRoute } from '../../src/api/public/pay.ts'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { Clock } from '../../src/core/runtime.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { openHouse } from '../api/api-fixture.ts'
import { type AttackedShop, type AttackFixture, signedBy } from '../harness/attacker-program.ts'
import { timeOff } from '../harness/fake-node.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

/** A ledger by whose clock the service goes, as with PostgreSQL, so many seconds off. */
function ledgerOff(seconds: number) {
  let offMs = seconds * 1000
  const clock: Clock = { now: () => fixture.world.localnet.now() + offMs, monotonic: () => performance.now() }
  const set = (off: number) => {
    offMs = off * 1000
  }
  return { ledger: { ...createReferenceLedger({ clock }), clock }, set }
}

const json = { 'content-type': 'application/json' }
const logsOf = (event: string) => fixture.logged.filter((line) => line.includes(`"${event}"`))

/** A paywall that may not become ready. */
function open(options: Partial<ProviderOptions>) {
  const paid = create402Middleware({
    ...{ price: 0.01, token: 'USDC', recipient: fixture.world.recipient.address, network: 'localnet' },
    ...{ rpc: fixture.world.localnet.rpcUrl, log: fixture.log, watch: false, waitSeconds: 0, ...options },
  })
  fixture.defer(() => paid.close())
  const route = paid(() => new Response('the secret'))
  return { ...paid, visit: (headers = {}) => route(new Request('http://localhost:3200/data', { headers })) }
}

describe('at the start', () => {
  it.each([
    ['ahead', 600],
    ['behind', -600],
    ['ahead by little more than the bound', 40],
  ])('T174: a clock that is %s sells nothing, to programs and people', async (_what, seconds) => {
    fixture.logged.length = 0
    const shop = open({ ledger: ledgerOff(seconds).ledger })
    await expectRefused(shop.visit(), 'not_priced')
    const page = await shop.visit({ accept: 'text/html', 'sec-fetch-mode': 'navigate' })
    expect(await page.text()).toContain(`${page.status} not_priced`)
    expect(await shop.readiness()).toMatchObject({ ready: false, why: expect.stringContaining("the chain's time") })
    await expect(shop.ready()).rejects.toThrow("the chain's time")
    expect(logsOf('clock.wrong')).toHaveLength(1)
    const [, ahead] = /^paystile_clock_ahead_seconds (\S+)$/m.exec(await shop.metrics()) ?? []
    expect(Math.abs(Number(ahead) - seconds)).toBeLessThan(5)
  })

  it.each([
    ['a node that lags', 250],
    ['a chain whose time is an hour behind', 3_600],
  ])('T174: %s is no wrong clock', async (_what, seconds) => {
    const fakeNode = await fixture.fakeNode()
    fakeNode.behave(timeOff(-seconds))
    const shop = await fixture.open({ ledger: ledgerOff(0).ledger, rpc: fakeNode.url })
    await expectServed(shop.claim(await shop.buy(fixture.payer)))
    expect(await shop.readiness()).toMatchObject({ ready: true })
  })

  it('T174: a clock that is behind is found out beside a node that lags as much', async () => {
    const fakeNode = await fixture.fakeNode()
    fakeNode.behave(timeOff(-600))
    const shop = open({ ledger: ledgerOff(-600).ledger, rpc: [fakeNode.url, fixture.world.localnet.rpcUrl] })
    expect(await shop.readiness()).toMatchObject({ ready: false })
  })
})

describe('while it runs', () => {
  it.each([
    ['ten minutes ahead, and payments are served', 600, false],
    ['days ahead, and payments are served later', 300_000, true],
  ])('T174: sales stop while the clock is %s', async (_what, seconds, isLong) => {
    fixture.logged.length = 0
    const { world, payer } = fixture
    const { ledger, set } = ledgerOff(0)
    const house = await openHouse(fixture, { ledger })
    const isReady = async () => (await house.get('/readyz')).status === 200
    const [first, second] = [await house.pay(payer), await house.pay(payer)]
    const challenge = (await (await house.get('/data', { 'Payment-Accept': 'sig' })).json()) as Challenge
    const signed = { tx: await world.pay(challenge, payer), challenge, payer }
    const payRoute = createPayRoute({ service: house.service, publicUrl: undefined, icon: undefined })
    const visitPay = (requestId: string, init: RequestInit) => {
      const url = new URL(`${house.url}/pay/${requestId}`)
      return payRoute(new Request(url, init), url, { peer: '192.0.2.7', isLoopback: false })
    }
    const draft = (requestId: string) =>
      visitPay(requestId, { method: 'POST', body: JSON.stringify({ account: payer.address }), headers: json })

    set(seconds)
    // Not found out yet: this price begins in the future, and its payment looks early.
    const early = await house.pay(payer)
    const open = await house.challenge()
    const page = await house.get('/data', { accept: 'text/html' })
    const cookie = page.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ')
    expect([page.status, (await draft(open.requestId)).status]).toEqual([402, 200])
    await eventually(isReady, (ready) => !ready)
    expect(await (await house.visit('/readyz')).json()).toMatchObject({ ready: false, why: ['clock_wrong'] })
    for (const answer of [
      house.get('/data'),
      house.get('/data', { accept: 'text/html' }),
      house.get('/data', { accept: 'text/html', cookie }),
      visitPay(open.requestId, { headers: { accept: 'text/html' } }),
      draft(open.requestId),
    ])
      expect((await answer).status).toBe(503)
    const sig = await signedBy({ world } as AttackFixture, { url: house.url } as AttackedShop, signed, payer)
    const claims = [proofOf(signed.tx, challenge, payer, sig), first.proof]
    for (const proof of claims) {
      if (isLong) await expectRefused(house.claim(proof), 'chain_unavailable')
      else await expectServed(house.claim(proof))
    }
    await expectServed(house.claim(early.proof))

    set(0)
    await eventually(isReady, (ready) => ready)
    await expectServed(house.claim(second.proof))
    if (isLong) for (const proof of claims) await expectServed(house.claim(proof))
    await expectServed(house.claim((await house.pay(payer)).proof))
    expect([logsOf('clock.wrong'), logsOf('clock.corrected')].map(({ length }) => length)).toEqual([1, 1])
    await house.close()
  })

  it('T209: a clock that was set a moment ago refuses no payment for good', async () => {
    const { world, payer } = fixture
    const { ledger, set } = ledgerOff(0)
    const house = await openHouse(fixture, { ledger })
    const { proof } = await house.pay(payer)
    const challenge = (await (await house.get('/data', { 'Payment-Accept': 'sig' })).json()) as Challenge
    const signed = { tx: await world.pay(challenge, payer), challenge, payer }
    const sig = await signedBy({ world } as AttackFixture, { url: house.url } as AttackedShop, signed, payer)
    const claims = [proofOf(signed.tx, challenge, payer, sig), proof]
    set(300_000)
    for (const one of claims) await expectRefused(house.claim(one), 'chain_unavailable')
    set(0)
    for (const one of claims) await expectServed(house.claim(one))
    await house.close()
  })

  const buyWithClaim = async (shop: Shop): Promise<string> => {
    const { world, payer } = fixture
    const secret = 'a-secret-of-the-client-0123456789'
    const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
    const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
    return `${proofOf(await world.pay(challenge, payer), challenge, payer)}; claim=${secret}`
  }
  const isReady = async (shop: Shop) => (await shop.readiness()).ready

  it('T213: a window does not begin by a clock that is behind', async () => {
    const { ledger, set } = ledgerOff(0)
    const shop = await fixture.open({ per: { seconds: 600 }, ledger })
    const proof = await buyWithClaim(shop)
    set(-7_200)
    await eventually(
      () => isReady(shop),
      (ready) => !ready,
    )
    await expectRefused(shop.claim(proof), 'chain_unavailable')
    set(0)
    await eventually(() => isReady(shop), Boolean)
    const served = await shop.claim(proof)
    expect(served.headers.get('payment-allowance')).toContain('remaining=600;')
    await expectServed(shop.claim(proof))
  })

  it('T249: a bundle that is first used by a clock that is weeks behind keeps its whole life', async () => {
    const { ledger, set } = ledgerOff(0)
    const shop = await fixture.open({ per: { requests: 5 }, ledger })
    const proof = await buyWithClaim(shop)
    set(-40 * 86_400)
    await expectServed(shop.claim(proof))
    const [, tx = ''] = /tx=(\w+)/.exec(proof) ?? []
    const { usableUntil = 0 } = (await ledger.peek(decodeSignature(tx) ?? new Uint8Array())) ?? {}
    expect(usableUntil - fixture.world.localnet.now()).toBeGreaterThan(29 * 86_400_000)
    set(0)
    await expectServed(shop.claim(proof))
  })

  it.each([
    ['bundle', { requests: 5 }],
    ['window', { seconds: 600 }],
  ])('T213: a clock that is set far ahead ends no %s for good', async (_what, per) => {
    const { ledger, set } = ledgerOff(0)
    const shop = await fixture.open({ per, ledger })
    const proof = await buyWithClaim(shop)
    await expectServed(shop.claim(proof))
    set(40_000_000)
    await expectRefused(shop.claim(proof), 'chain_unavailable')
    await eventually(
      () => isReady(shop),
      (ready) => !ready,
    )
    await expectRefused(shop.claim(proof), 'chain_unavailable')
    set(0)
    await expectServed(shop.claim(proof))
  })
})
