/** The token in which a provider reads what it earned. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { openHouse } from './api-fixture.ts'

let shop: ShopFixture
beforeAll(async () => {
  shop = await createShopFixture()
})
afterAll(() => shop.close())

describe('the report token', () => {
  it('is the token of the revenue, at the rate of the payment, and the ledger accepts no other one afterwards', async () => {
    const ledger = join(shop.directory, 'in-sol.sqlite')
    const rates = { SOL: '200', USDC: '1' }
    const house = await openHouse(shop, { ledger, rates, reportToken: 'SOL' })
    const { proof } = await house.pay(shop.payer)
    expect((await house.claim(proof)).status).toBe(200)
    expect(await (await house.get('/api/analytics')).json()).toMatchObject({
      revenueToken: 'SOL',
      totalRevenue: '0.00005',
      currencyBreakdown: { NATIVE: '0', USDC: '0.01', SOL: '0' },
    })
    await house.close()
    await expect(openHouse(shop, { ledger, rates })).rejects.toThrow(
      /reports in SOL, not in USDC.*paystile books rebuild/,
    )
    // With the same rates or others: what was earned was frozen.
    const again = await openHouse(shop, { ledger, rates: { SOL: '1', USDC: '1' }, reportToken: 'SOL' })
    expect(await (await again.get('/api/analytics')).json()).toMatchObject({ totalRevenue: '0.00005' })
    await again.close()
  })

  it('is that of the books also for a server that began with another', async () => {
    const ledger = join(shop.directory, 'rebuilt.sqlite')
    const house = await openHouse(shop, { ledger, rates: { SOL: '200', USDC: '1' }, reportToken: 'SOL' })
    expect((await house.claim((await house.pay(shop.payer)).proof)).status).toBe(200)
    await house.service.ledger.books?.rebuild('USDC')
    expect((await house.claim((await house.pay(shop.payer)).proof)).status).toBe(200)
    expect(await (await house.get('/api/analytics')).json()).toMatchObject({
      revenueToken: 'USDC',
      totalRevenue: '0.02',
      unvalued: 0,
    })
    await house.close()
  })
})
