/** Many servers, one database: a payment is worth one access, wherever its proof turns up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Postgres, startPostgres } from '../harness/postgres.mjs'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

const secret = `1:${'a'.repeat(32)}`
let fixture: ShopFixture
let postgres: Postgres
let replicas: readonly Shop[]
beforeAll(async () => {
  fixture = await createShopFixture()
  postgres = await startPostgres()
  fixture.defer(postgres.close)
  const ledger = await postgres.place()
  // Each by a node of its own, so that each is a service of its own.
  const open = async () => fixture.open({ ledger, secret, rpc: (await fixture.fakeNode()).url, leaseSeconds: 1 })
  replicas = [await open(), await open(), await open(), await open()]
})
afterAll(() => fixture.close())

const at = (index: number) => replicas[index % replicas.length] as Shop

/** Another server knows of the end of a delivery as soon as it is written down, which takes its time. */
async function expectUsed(shop: Shop, proof: string): Promise<void> {
  const codeOf = async () => ((await (await shop.claim(proof)).json()) as { code: string }).code
  let code = await codeOf()
  while (code === 'payment_in_progress') code = await codeOf()
  expect(code).toBe('payment_replay')
}

describe('four servers on one database', () => {
  it('T92: twenty uses of one proof at once are one 200', async () => {
    for (let round = 0; round < 5; round += 1) {
      const proof = await at(round).buy(fixture.payer)
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => at(index).claim(proof)))
      const served = answers.filter((answer) => answer.status === 200)
      expect([served.length, new Set(answers.map((answer) => answer.status))]).toEqual([1, new Set([200, 409])])
      for (const answer of answers) await answer.text()
      await expectUsed(at(round + 1), proof)
    }
  })

  it('T119: while the database is away, no request is served and no client pays again, and afterwards the state is unchanged', async () => {
    const [fresh, used] = [await at(0).buy(fixture.payer), await at(1).buy(fixture.payer)]
    await expectServed(at(2).claim(used))
    await expectUsed(at(3), used)
    await postgres.kill()
    for (const shop of replicas) await expectRefused(shop.claim(fresh), 'ledger_unavailable')
    await postgres.start()
    await expectServed(at(1).claim(fresh))
    await expectUsed(at(0), used)
  })
})
