/** Background work whose decisions stay waits while the clock is wrong. The chain is right, and the server's clock is not. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRoutesConfig } from '../../src/api/options.ts'
import { startPayoutWorkers } from '../../src/compose/payouts.ts'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { createMeter } from '../../src/core/observability/metrics.ts'
import type { Clock, ClockCheck } from '../../src/core/runtime.ts'
import { planRefund } from '../../src/workers/payouts/refunds.ts'
import { startSubmissionOutcomes } from '../../src/workers/submissions.ts'
import { startWebhooks } from '../../src/workers/webhooks.ts'
import { openHouse } from '../api/api-fixture.ts'
import { createShopFixture, type ShopFixture } from '../harness/shop-fixture.ts'
import { createPayment, takeOf } from '../ledger/payments.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { dayMs, openPayoutFixture } from './payout-fixture.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
})
afterAll(() => fixture.close())

function newKey(): Uint8Array {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return new Uint8Array([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')])
}
const addressOf = (key: Uint8Array) => encodeBase58(key.subarray(32))
const newAddress = () => addressOf(newKey())
const bytesOf = (tx: string) => decodeSignature(tx) ?? new Uint8Array(64)

/** A ledger by whose clock the service goes, as with PostgreSQL. */
function createSettableLedger() {
  let offMs = 0
  const clock: Clock = { now: () => fixture.world.localnet.now() + offMs, monotonic: () => performance.now() }
  const set = (days: number) => {
    offMs = days * dayMs
  }
  return { ledger: { ...createReferenceLedger({ clock }), clock }, set }
}

/** A clock in the hand of the test. It is right unless it was set ahead. */
function createClock() {
  let [now, aheadMs] = [1_790_000_000_000, 0]
  const clock: Clock = { now: () => now + aheadMs, monotonic: () => now }
  const clockCheck: ClockCheck = {
    why: () => undefined,
    aheadMs: () => 0,
    isConfirmed: () => aheadMs === 0,
  }
  const set = (days: number) => {
    aheadMs = days * dayMs
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { clock, clockCheck, set, pass }
}

const log = { info: () => {}, warn: () => {}, error: () => {} }

it('T242: a clock that was set days ahead takes no share from a payee, and books no refund on another day', async () => {
  const { world, payer } = fixture
  const { ledger, set } = createSettableLedger()
  const refundKey = newKey()
  await world.localnet.fund(addressOf(refundKey), { SOL: 10n ** 9n, USDC: 10n ** 9n })
  const house = await openHouse(fixture, { ledger, price: 10 })
  const rest = () => ({ wallet: newAddress(), weight: 1 })
  const partner = { name: 'acme', wallet: newAddress(), share: 90, endpoints: ['/data'] }
  const collector = world.recipient.address
  const rewards = { collector, partners: [partner], treasury: rest(), buyback: rest(), incentives: rest() }
  const options = { network: 'localnet' as const, rpc: world.localnet.rpcUrl, ledger, refundKey, rewards }
  const money = await startPayoutWorkers(house.service, readRoutesConfig(options, {}))
  await money.run()
  house.fail(true)
  const [late, returned] = [await house.pay(payer), await house.pay(payer)]
  world.localnet.advanceSlots(40)
  for (const { proof } of [late, returned]) expect((await house.claim(proof)).status).toBe(500)
  const planning = money.refunds && (await planRefund(money.refunds, bytesOf(returned.tx)))
  expect(planning?.kind).toBe('planned')

  set(3)
  for (let turn = 0; turn < 3; turn += 1) {
    await money.run()
    world.localnet.advanceSlots(40)
  }
  expect(await ledger.rewards.countAccruable()).toBe(2)
  expect(await ledger.outgoing.open()).toMatchObject([{ kind: 'refund', state: 'planned' }])

  set(0)
  house.fail(false)
  expect((await house.claim(late.proof)).status).toBe(200)
  const isDone = async (): Promise<boolean> => {
    await money.run()
    world.localnet.advanceSlots(40)
    const [refunds, shared] = [
      await ledger.outgoing.list({ kind: 'refund', state: 'landed', most: 1 }),
      await ledger.rewards.payee({ role: 'partner', payee: partner.wallet }),
    ]
    return refunds.every(({ changedAt }) => changedAt <= ledger.clock.now()) && refunds.length > 0 && !!shared
  }
  await expect.poll(isDone).toBe(true)
  await money.stop()
  await house.close()
})

describe('a clock that was set ahead', () => {
  it('T242: pays no second daily cap', async () => {
    const payouts = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    let isConfirmed = true
    const worker = payouts.another({ clockCheck: { why: () => undefined, isConfirmed: () => isConfirmed } })
    await payouts.owe({ ann: 60n, bob: 50n })
    const run = async () => {
      for (let turn = 0; turn < 3; turn += 1) await worker.run()
    }
    await run()
    isConfirmed = false
    payouts.pass(2 * dayMs)
    await run()
    expect(Object.fromEntries(payouts.got)).toEqual({ ann: 60n })
    isConfirmed = true
    await run()
    expect(Object.fromEntries(payouts.got)).toEqual({ ann: 60n, bob: 50n })
    await payouts.stop()
  })

  it('T242: reports no payment as expired, and later each that is', async () => {
    const { clock, clockCheck, set, pass } = createClock()
    const { events, books, take } = { ...createReferenceLedger({ clock }) }
    const told: string[] = []
    const worker = startWebhooks({
      notices: events,
      books,
      webhooks: [
        { name: 'hook', url: 'http://127.0.0.1', secrets: [], events: ['payment.undelivered'], allowPrivate: false },
      ],
      describe: () => ({}),
      post: async (_, { body }) => {
        told.push(body)
        return { kind: 'answered', status: 200, retryAfterMs: undefined }
      },
      ...{ clock, clockCheck, log, meter: createMeter() },
    })
    await worker.run()
    const payment = createPayment({ usableUntil: clock.now() + dayMs })
    await take(takeOf(payment, { leaseMs: 1 }))
    pass(20_000)
    set(30)
    await worker.run()
    expect(told).toEqual([])
    set(0)
    const next = createPayment({ usableUntil: clock.now() + 2 * dayMs })
    await take(takeOf(next, { leaseMs: 1 }))
    for (const count of [1, 2]) {
      pass(dayMs + 20_000)
      await worker.run()
      expect(told).toHaveLength(count)
    }
    await worker.stop()
  })

  it('T242: forgets no transaction that was sent for a client', async () => {
    const { clock, clockCheck, set } = createClock()
    const { submissions } = createReferenceLedger({ clock })
    const [tx, message] = [new Uint8Array(randomBytes(64)), new Uint8Array(randomBytes(32))]
    const names = { request: 'request', payer: 'payer', client: 'client', sealed: 'sealed' }
    const limits = { perDay: 10n ** 9n, lostPerDay: 10n ** 9n, failuresPerPayer: 9, failuresPerClient: 9 }
    const [at, lamports] = [clock.now(), 5_000n]
    await submissions.open({ tx, message, ...names, slot: 1, lamports, heldUntil: at, at }, limits)
    await submissions.close(tx, 'landed', lamports)
    const sealer = { tag: '', seal: () => '', open: () => undefined }
    const worker = startSubmissionOutcomes({
      submissions,
      sealer,
      readStates: async () => [],
      ...{ clock, clockCheck, log },
    })
    set(41)
    await worker.run()
    expect((await submissions.find(tx))?.lamports).toBe(lamports)
    await worker.stop()
  })
})
