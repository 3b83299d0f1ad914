/** Rates that move, fail and lie: what was quoted holds, and a token that nobody can price is not sold. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { proofOf } from '../harness/localnet-fixture.ts'
import { eventually, type Shop } from '../harness/shop.ts'
import { createShopFixture, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

/** A source whose rate of SOL the test sets; it is asked every second. */
async function openRated(): Promise<{
  readonly shop: Shop
  set(rate: string | undefined): void
  solOf: () => Promise<unknown>
}> {
  let rate: string | undefined = '100'
  const shop = await fixture.open({
    price: 0.1,
    acceptedMints: ['USDC', 'SOL'],
    rates: {
      async read() {
        if (rate === undefined) throw new Error('the source is down')
        return [{ token: 'SOL', rate }]
      },
      refreshSeconds: 1,
      maxAgeSeconds: 5,
      spread: 0.01,
    },
  })
  const solOf = async () => (await shop.challenge()).amounts?.SOL
  await eventually(solOf, (amount) => amount !== undefined)
  return {
    shop,
    set: (to) => {
      rate = to
    },
    solOf,
  }
}

it('T52, T66: a quote holds when the rate moves, with a spread on it for that', async () => {
  const { shop, set, solOf } = await openRated()
  const quoted = await shop.challenge()
  expect(quoted.amounts).toEqual({ USDC: '0.1', SOL: '0.00101' })
  set('90')
  expect(await eventually(solOf, (amount) => amount !== '0.00101')).toBe('0.001122224')
  const tx = await fixture.world.pay(quoted, fixture.payer, 'SOL')
  await expectServed(shop.claim(proofOf(tx, quoted, fixture.payer)))
})

it.each([
  ['is a thousand times as high', '100000'],
  ['is a thousandth', '0.1'],
  ['is zero', '0'],
  ['is not a number', 'NaN'],
])('T53: a rate that %s switches its token off, and no other', async (_name, rate) => {
  const { shop, set, solOf } = await openRated()
  set(rate)
  // A reading that is no rate is ignored, and the last one ages.
  fixture.world.localnet.advance(6)
  await eventually(solOf, (amount) => amount === undefined, 1_000)
  expect(await shop.challenge()).toMatchObject({ amount: '0.1', acceptedMints: ['USDC'], amounts: { USDC: '0.1' } })
})

it('says in its readiness why a token has no price', async () => {
  const source = { read: async () => Promise.reject(new Error('the source is down')) }
  const shop = await fixture.open({ price: 0.1, acceptedMints: ['USDC', 'SOL'], rates: source })
  const withheld = { SOL: expect.stringMatching(/^rates: SOL has no usable rate: .*the source is down/) }
  expect(await shop.readiness()).toEqual({ ready: true, offered: ['USDC'], withheld })
  const silent = fixture.open({ price: 0.1, acceptedMints: ['SOL'], rates: { ...source, refreshSeconds: 2 } })
  await expect(silent).rejects.toThrow('rates: SOL has no usable rate')
})

it('T53: a source that fails switches its token off when the last rate is too old, and on again', async () => {
  const { shop, set, solOf } = await openRated()
  set(undefined)
  expect(await solOf()).toBeDefined()
  fixture.world.localnet.advance(6)
  await eventually(solOf, (amount) => amount === undefined, 1_000)
  expect((await shop.challenge()).acceptedMints).toEqual(['USDC'])
  set('101')
  await eventually(solOf, (amount) => amount !== undefined, 1_000)
})
