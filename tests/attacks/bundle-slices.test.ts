/** Slices of bundles: servers hold some uses, die, pause and lose their ledger. The test counts the served uses itself. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { sliceOfUses } from '../../src/core/payment/allowance.ts'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import { type Ledger, LedgerUnavailable, type PaymentRecord } from '../../src/core/ports/ledger.ts'
import { parseProof } from '../../src/core/protocol/proof.ts'
import type { Clock } from '../../src/core/runtime.ts'
import type { Admission } from '../../src/paywall/claim/admit.ts'
import type { Claim } from '../../src/paywall/claim/verify-on-chain.ts'
import type { RouteConfig } from '../../src/paywall/config/config.ts'
import { createBundleSlices, type SlicedAdmission } from '../../src/paywall/delivery/bundle-slices.ts'
import type { Runtime } from '../../src/paywall/runtime/runtime.ts'
import { size } from '../harness/length.ts'
import { proofOf } from '../harness/localnet-fixture.ts'
import type { Shop } from '../harness/shop.ts'
import { createShopFixture, expectRefused, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'
import { createPayment, startOfTests, takeOf } from '../ledger/payments.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'

const leaseMs = 5_000

/** A bundle, and the time of its servers. */
async function openBundle(amount: bigint) {
  const clock = { now: () => Date.now(), monotonic: () => Date.now() }
  const ledger = createReferenceLedger({ clock })
  const allowance = { unit: 'request', amount } as const
  const payment = createPayment({ allowance, usableUntil: startOfTests + 86_400_000 })
  const taken = await ledger.take(takeOf(payment))
  if (taken.kind !== 'granted') throw new Error(taken.kind)
  await ledger.end(taken.grant, 'not_started', 0n)
  const leftOf = async () => (await ledger.peek(payment.tx))?.remaining
  return { clock, ledger, payment, leftOf, open: (store: Ledger = ledger) => openServer(store, clock, payment) }
}

type Server = ReturnType<typeof openServer>

/** A server with one client, which presents the proof of the bundle again and again. */
function openServer(ledger: Ledger, clock: Clock, payment: PaymentRecord) {
  let isDead = false
  const reported: { partial: bigint }[] = []
  const guard =
    <Args extends readonly unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> =>
      isDead ? new Promise<T>(() => {}) : call(...args)
  const own: Ledger = {
    ...ledger,
    take: guard(ledger.take),
    renew: guard(ledger.renew),
    reportSlice: guard(async (grant, report) => {
      reported.push(report)
      return ledger.reportSlice(grant, report)
    }),
  }
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const runtime = {
    ledger: own,
    clock,
    log,
    changes: { note: () => {} },
    clockCheck: { aheadMs: () => 0, isConfirmed: () => true },
  }
  const per = { kind: 'allowance', allowance: payment.allowance }
  const config = { leaseMs, pricing: { per } }
  const slices = createBundleSlices(runtime as unknown as Runtime, config as unknown as RouteConfig)
  if (!slices) throw new Error('the route sells bundles')
  const claim = { routeRuntime: { runtime }, proof: { tx: 'tx', txBytes: payment.tx } } as unknown as Claim
  const { request, allowance, usableUntil } = payment
  const earlier = { kind: 'admitted', request, allowance, usableUntil } as Admission
  return {
    slices,
    reported,
    draw: () => slices.draw(claim, earlier),
    /** Like the paywall: from a slice, or by a grant of its own. */
    take: async (): Promise<SlicedAdmission | undefined> => {
      const admission = slices.draw(claim, earlier) ?? (await slices.take(claim, earlier))
      if (admission) return admission
      const order = { tx: payment.tx, request, amount: 1n, leaseMs }
      let taken = await own.take(order)
      for (let time = 0; time < 30 && taken.kind === 'busy' && taken.hasSlices; time += 1) {
        await vi.advanceTimersByTimeAsync(50)
        taken = await own.take(order)
      }
      return taken.kind === 'granted' ? { ...earlier, grant: taken.grant } : undefined
    },
    /** Whether the response could be completed. */
    end: async ({ use, grant }: SlicedAdmission, outcome: DeliveryOutcome): Promise<boolean> => {
      const isAlive = use?.isAlive() ?? false
      use?.end(outcome)
      return grant ? own.end(grant, outcome, 1n) : isAlive
    },
    die: () => {
      isDead = true
    },
  }
}

async function drawn(server: Server): Promise<SlicedAdmission> {
  const admission = await server.take()
  if (!admission) throw new Error('no use was left')
  return admission
}

/** Uses the rest of the bundle, one by one. */
async function useUp(server: Server): Promise<number> {
  let served = 0
  for (;;) {
    const admission = await server.take()
    if (!admission) return served
    await server.end(admission, 'delivered')
    served += 1
  }
}

describe('a slice', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: startOfTests, toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  })
  afterEach(() => vi.useRealTimers())
  const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('serves many uses with few writes, and each answer names its rest', async () => {
    const bundle = await openBundle(1_000_000n)
    const server = bundle.open()
    const rests: bigint[] = []
    for (let use = 0; use < 200; use += 1) {
      const admission = await drawn(server)
      rests.push(admission.remaining)
      await server.end(admission, 'delivered')
    }
    expect(rests).toEqual(rests.map((_, index) => 999_999n - BigInt(index)))
    expect(server.reported.length).toBeLessThan(10)
    await server.slices.close()
    expect(await bundle.leftOf()).toBe(999_800n)
  })

  it('goes back after a second without use, also to another server', async () => {
    const bundle = await openBundle(320n)
    const [one, other] = [bundle.open(), bundle.open()]
    await one.end(await drawn(one), 'delivered')
    expect(await bundle.leftOf()).toBe(300n)
    await wait(999)
    expect(await bundle.leftOf()).toBeLessThan(319n)
    await wait(1)
    expect(await bundle.leftOf()).toBe(319n)
    expect(one.draw()).toBeUndefined()
    expect(await useUp(other)).toBe(319)
  })

  it('keeps a use that is still under way, and returns the others', async () => {
    const bundle = await openBundle(320n)
    const server = bundle.open()
    const admission = await drawn(server)
    await wait(60_000)
    expect(await bundle.leftOf()).toBe(319n)
    expect(admission.use?.isAlive()).toBe(true)
    await server.end(admission, 'not_started')
    await wait(0)
    expect(await bundle.leftOf()).toBe(320n)
  })

  it('T195: is not used for longer than a second after the chain took its payment back', async () => {
    const bundle = await openBundle(320n)
    const server = bundle.open()
    await server.end(await drawn(server), 'delivered')
    await bundle.ledger.journal.conclude([{ tx: bundle.payment.tx, finality: 'reverted' }])
    for (let waited = 0; waited < 1_000; waited += 50) {
      const admission = server.draw()
      if (admission) await server.end(admission, 'delivered')
      await wait(50)
    }
    expect(await server.take()).toBeUndefined()
  })

  it('T195: is confirmed before its next use, if this server knows that a payment was taken back', async () => {
    const bundle = await openBundle(320n)
    const server = bundle.open()
    await server.end(await drawn(server), 'delivered')
    await bundle.ledger.journal.conclude([{ tx: bundle.payment.tx, finality: 'reverted' }])
    server.slices.doubt()
    expect(server.draw()).toBeUndefined()
    expect(await server.take()).toBeUndefined()
  })

  it('T195: is not used for longer than a second without the ledger, and reports its uses once', async () => {
    const bundle = await openBundle(320n)
    let isOut = false
    let isForgetful = false
    const server = bundle.open({
      ...bundle.ledger,
      reportSlice: async (grant, report) => {
        if (isOut) throw new LedgerUnavailable('it is out')
        const state = await bundle.ledger.reportSlice(grant, report)
        if (isForgetful) throw new LedgerUnavailable('the answer was lost')
        return state
      },
    })
    for (let use = 0; use < 3; use += 1) await server.end(await drawn(server), 'delivered')
    isForgetful = true
    await wait(600)
    isForgetful = false
    isOut = true
    await server.end(await drawn(server), 'delivered')
    await wait(500)
    expect(server.draw()).toBeUndefined()
    isOut = false
    await wait(3_000)
    expect(await bundle.leftOf()).toBe(316n)
  })

  it('T195: stops the uses under way when another server took its part', async () => {
    const bundle = await openBundle(320n)
    const server = bundle.open({ ...bundle.ledger, renew: () => Promise.reject(new LedgerUnavailable('out')) })
    const { use } = await drawn(server)
    let isLost = false
    use?.onLost(() => {
      isLost = true
    })
    await wait(leaseMs)
    expect([isLost, use?.isAlive(), server.draw()]).toEqual([true, false, undefined])
  })

  const deed = fc.tuple(
    fc.constantFrom('take', 'take', 'take', 'take', 'end', 'end', 'end', 'wait', 'pause', 'die'),
    fc.nat(2),
    fc.integer({ min: 1, max: 12 }),
  )
  const history = fc.array(deed, { minLength: 20, maxLength: 120, size: 'max' })

  it.each([
    ['no server dies', false],
    ['servers die', true],
  ])('T195: serves what was bought, and at most three slices more, when %s', async (_name, canDie) => {
    let extra = 0
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 32, max: 300 }), history, async (amount, deeds) => {
        const bundle = await openBundle(BigInt(amount))
        const servers = [0, 1, 2].map(() => ({ server: bundle.open(), running: [] as SlicedAdmission[] }))
        let [served, deaths] = [0, 0]
        for (const [act, which, count] of deeds) {
          const place = servers[which]
          if (!place) continue
          const { server, running } = place
          if (act === 'wait') await wait(count * 30)
          if (act === 'pause') await wait(count * 200)
          for (let time = 0; time < count && act === 'take'; time += 1) {
            const admission = await server.take()
            if (admission) running.push(admission)
          }
          for (const admission of act === 'end' ? running.splice(0, count) : []) {
            const isDone = await server.end(admission, count === 5 ? 'not_started' : 'delivered')
            if (count !== 5 && isDone) served += 1
          }
          if (act === 'die' && canDie) {
            server.die()
            deaths += 1
            servers[which] = { server: bundle.open(), running: [] }
          }
        }
        for (const { server, running } of servers) {
          for (const admission of running) {
            if (await server.end(admission, 'delivered')) served += 1
          }
          await server.slices.close()
        }
        await wait(leaseMs + 1_000)
        served += await useUp(bundle.open())
        expect((await bundle.ledger.peek(bundle.payment.tx))?.state).toBe('spent')
        const most = Number(sliceOfUses(BigInt(amount)))
        if (deaths === 0) expect(served).toBe(amount)
        expect(served).toBeLessThanOrEqual(amount + 3 * most)
        extra += Math.max(0, served - amount)
      }),
      { numRuns: size(40, 300) },
    )
    if (canDie) expect(extra).toBeGreaterThan(0)
  })
})

describe('a bundle at two servers', () => {
  const secret = 'a-secret-of-the-client-0123456789'
  const accept = `claim=${createHash('sha256').update(secret).digest('base64url')}`
  let fixture: ShopFixture
  beforeAll(async () => {
    fixture = await createShopFixture()
  })
  afterAll(() => fixture.close())

  const openLedger = () =>
    createReferenceLedger({ clock: { now: fixture.world.localnet.now, monotonic: () => performance.now() } })
  const sold = { per: { requests: 64 }, price: 0.5, scope: 'all', secret: `1:${'s'.repeat(40)}` } as const
  const buy = async (shop: Shop) => {
    const challenge = await shop.challenge('/data', { 'Payment-Accept': accept })
    const tx = await fixture.world.pay(challenge, fixture.payer)
    return proofOf(tx, challenge, fixture.payer, `; claim=${secret}`)
  }

  it('T195: is served exactly as often as it was bought, to the last use', async () => {
    const bundle = { ...sold, ledger: openLedger() }
    const shops = [await fixture.open(bundle), await fixture.open(bundle)] as const
    const proof = await buy(shops[0])
    for (let use = 0; use < 64; use += 1) await expectServed((use % 3 === 0 ? shops[0] : shops[1]).claim(proof))
    await expectRefused(shops[0].claim(proof), 'payment_replay')
    await expectRefused(shops[1].claim(proof), 'payment_replay')
  })

  it('T195: waits for the last uses if another server returns them, and refuses nothing for good before', async () => {
    const ledger = openLedger()
    let request = ''
    const noting: Ledger = {
      ...ledger,
      take: (take) => {
        request = take.request
        return ledger.take(take)
      },
    }
    const shop = await fixture.open({ ...sold, ledger: noting })
    const proof = await buy(shop)
    await expectServed(shop.claim(proof))
    const reading = parseProof(proof)
    if (reading.kind === 'malformed') throw new Error(reading.why)
    const tx = reading.proof.txBytes
    const other = await ledger.take({ tx, request, amount: 1n, isSlice: true, leaseMs: 30_000 })
    if (other.kind !== 'granted') throw new Error(other.kind)
    for (let use = 1n; use < 64n - other.grant.amount; use += 1n) await expectServed(shop.claim(proof))
    const waiting = shop.claim(proof)
    const report = { number: 1n, delivered: 1n, partial: 0n, noBody: 0n, keeps: 0n, fills: false }
    await new Promise((resolve) => setTimeout(resolve, 50))
    await ledger.reportSlice(other.grant, report)
    await expectServed(waiting)
    for (let use = 2n; use < other.grant.amount; use += 1n) await expectServed(shop.claim(proof))
    await expectRefused(shop.claim(proof), 'payment_replay')
  })
})
