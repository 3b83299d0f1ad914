/** A key that pays may be missing: that is told with the file and what to do, and payments are shared out all the same. */
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { startPayoutWorkers } from '../../src/compose/payouts.ts'
import type { Facts } from '../../src/core/runtime.ts'
import { makeKeyFile } from '../../src/host/keys/key-file.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { createShopFixture } from '../harness/shop-fixture.ts'
import { openHouse } from './api-fixture.ts'

it('names the option, the file and the command, and goes on sharing out', async () => {
  const shop = await createShopFixture()
  onTestFinished(() => shop.close())
  const house = await openHouse(shop, { ledger: join(shop.directory, 'keys.sqlite'), price: 100, watch: true })
  onTestFinished(() => house.close())
  const wallet = async () => ({ wallet: (await newSigner()).address, weight: 1 })
  const [payout, refund] = [join(shop.directory, 'keys', 'payout.json'), join(shop.directory, 'refund.json')]
  const rewards = {
    ...{ collector: shop.world.recipient.address, cashback: { 0: 1 }, withoutPartner: true, key: payout },
    ...{ treasury: await wallet(), buyback: await wallet(), incentives: await wallet() },
  }
  const config = readRoutesConfig({ network: 'localnet', rewards, refundKey: refund }, {})
  makeKeyFile(refund)
  const told: [string, Facts | undefined][] = []
  const tell = (event: string, facts?: Facts): void => void told.push([event, facts])
  const log = { info: () => {}, warn: tell, error: tell }
  const money = await startPayoutWorkers({ ...house.service, log }, config)
  onTestFinished(() => money.stop())
  const why = `rewards.key: The key file ${payout} cannot be read: it does not exist; create it with npx paystile keys new ${payout}.`
  expect(told).toEqual([['rewards.start_failed', { why }]])
  expect([money.payouts, money.refunds]).toEqual([undefined, expect.anything()])
  await money.run()
  const { proof } = await house.pay(shop.payer)
  shop.world.localnet.advanceSlots(40)
  expect((await house.claim(proof)).status).toBe(200)
  const accrued = async () => {
    await money.run()
    return (await house.service.ledger.rewards?.sums())?.length
  }
  await expect.poll(accrued, { timeout: 10_000, interval: 20 }).toBe(1)
})
