/** Revenue is what was kept: refunds on a real chain are subtracted everywhere, on the day of the refund. */
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeAddress, decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { planRefund } from '../../src/workers/payouts/refunds.ts'
import { memo, proofOf } from '../harness/localnet-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { stores } from '../ledger/stores.ts'
import { type House, openHouse } from './api-fixture.ts'

const daySeconds = 86_400
let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

const bytesOf = (tx: string): Uint8Array => decodeSignature(tx) ?? new Uint8Array(64)
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
const addDays = (day: string, days: number): string => dayOf(Date.parse(day) + days * daySeconds * 1_000)

/** Lets time pass on chain, until the service knows. */
async function wait(house: House, seconds: number): Promise<void> {
  const { localnet } = shop.world
  localnet.advance(seconds)
  await expect.poll(() => localnet.now() - house.service.clock.now()).toBeLessThan(5_000)
}

/** Pays so much for what costs 10 USDC, and shows it. */
async function buy(house: House, units: bigint, status = 200): Promise<Uint8Array> {
  const { world, payer } = shop
  const asked = await house.challenge()
  const transfer = await world.transfer(payer, world.recipient.address, 'USDC', units)
  const tx = await world.send([memo(asked.requestId), transfer], payer)
  world.localnet.advanceSlots(40)
  const response = await house.claim(proofOf(tx, asked, payer))
  expect([response.status, await response.text()]).toEqual([status, status === 200 ? 'the secret' : ''])
  return bytesOf(tx)
}

async function startRefunds(house: House, ledger: Ledger) {
  const { localnet } = shop.world
  // Ledgers with one secret do not share a wallet.
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const refunder = await createKeyPairSignerFromPrivateKeyBytes(secret)
  await localnet.fund(refunder.address, { SOL: 10n ** 9n, USDC: 10n ** 9n })
  const refundKey = new Uint8Array([...secret, ...bytesOfAddress(refunder.address)])
  const config = readRoutesConfig({ network: 'localnet', rpc: localnet.rpcUrl, ledger, refundKey }, {})
  const money = await startPayoutWorkers(house.service, config)
  const { refunds } = money
  if (!refunds) throw new Error('nobody sends back')
  const sendBack = async (txs: readonly Uint8Array[]): Promise<void> => {
    for (const tx of txs) expect((await planRefund(refunds, tx)).kind).toBe('planned')
    const isDone = async (): Promise<boolean> => {
      await money.run()
      localnet.advanceSlots(40)
      return (await ledger.outgoing?.open())?.length === 0
    }
    await expect.poll(isDone).toBe(true)
  }
  return { sendBack, stop: money.stop }
}

describe.each(stores)('with the %s ledger', (_name, open) => {
  it('three whole payments and one surplus that went back are in no revenue', async () => {
    const { localnet } = shop.world
    const kv = await open({ now: () => localnet.now(), monotonic: () => performance.now() })
    shop.defer(() => kv.clear())
    const { ledger } = kv
    const house = await openHouse(shop, { ledger, price: 10 })
    const json = async (path: string) => (await house.get(path)).json()
    // All of it within one day.
    await wait(house, daySeconds - (Math.floor(localnet.now() / 1_000) % daySeconds) + 60)
    const paidOn = dayOf(localnet.now())
    house.fail(true)
    const price = 10_000_000n
    const whole = [await buy(house, price, 500), await buy(house, price, 500), await buy(house, price, 500)]
    house.fail(false)
    const surplus = await buy(house, 12_000_000n)
    const kept = await buy(house, price)
    await expect.poll(async () => (await ledger.books?.findPayment(kept))?.delivery).toBe('all')
    await expect.poll(async () => (await ledger.books?.findPayment(surplus))?.delivery).toBe('all')
    const before = { totalRevenue: '52', gross: '52', refunded: '0', payments: 5 }
    expect(await json('/api/analytics')).toMatchObject({ ...before, currencyBreakdown: { USDC: '52' } })

    await wait(house, daySeconds)
    const sentOn = addDays(paidOn, 1)
    const out = await startRefunds(house, ledger)
    await out.sendBack([...whole, surplus])
    const net = { gross: '52', refunded: '32' }
    expect(await json('/api/analytics')).toMatchObject({
      ...{ totalRevenue: '20', ...net, payments: 5 },
      currencyBreakdown: { NATIVE: '0', USDC: '20', SOL: '0' },
      topEndpoints: [{ path: '/data', payments: 5, revenue: '20', ...net }],
    })
    const later = `from=${sentOn}&to=${addDays(sentOn, 1)}`
    expect(await json(`/api/analytics?${later}`)).toMatchObject({
      ...{ totalRevenue: '-32', gross: '0', refunded: '32', payments: 0 },
      previous: before,
    })
    const series = await json(`/api/analytics/series?step=day&from=${paidOn}&to=${addDays(sentOn, 1)}`)
    const ofEndpoint = await json(
      `/api/analytics/series?step=day&endpoint=/data&from=${paidOn}&to=${addDays(sentOn, 1)}`,
    )
    const points = [
      { revenue: '52', gross: '52', refunded: '0', received: { USDC: '52' }, sentBack: { USDC: '0' } },
      { revenue: '-32', gross: '0', refunded: '32', received: { USDC: '0' }, sentBack: { USDC: '32' } },
    ]
    expect(series.points).toMatchObject(points)
    expect(ofEndpoint.points).toMatchObject(points)
    const views = await json('/analytics')
    expect(views.revenue).toMatchObject([{ endpoint: '/data', payments: 5, revenue: '20', ...net }])
    expect(views.tokens[1]).toMatchObject({ token: 'USDC', received: '52', sentBack: '32', revenue: '20', ...net })
    expect((await json(`/analytics?view=revenue&${later}`)).revenue).toMatchObject([{ payments: 0, revenue: '-32' }])
    expect((await json(`/analytics?view=tokens&${later}`)).tokens[1]).toMatchObject({ revenue: '-32', share: '0' })
    expect((await json(`/analytics/payers?from=${paidOn}&to=${addDays(sentOn, 1)}`)).payers).toMatchObject([
      { payments: 5, revenue: '20', ...net, received: { USDC: '52' }, sentBack: { USDC: '32' } },
    ])
    const { records } = (await json('/analytics?view=records&order=oldest')) as {
      records: { refunded: string; revenue: string }[]
    }
    const cells = records.map(({ refunded, revenue }) => `${refunded || 'none'} of it, ${revenue} kept`)
    expect(cells.toSorted()).toEqual([
      ...whole.map(() => '10 of it, 0 kept'),
      '2 of it, 10 kept',
      'none of it, 10 kept',
    ])
    expect(await ledger.books?.audit()).toEqual([])
    await ledger.books?.rebuild('USDC')
    expect(await json('/api/analytics')).toMatchObject({ totalRevenue: '20', ...net })
    expect(await ledger.books?.audit()).toEqual([])
    await out.stop()
    await house.close()
  })
})

function bytesOfAddress(address: string): Uint8Array {
  return decodeAddress(address) ?? new Uint8Array(32)
}
