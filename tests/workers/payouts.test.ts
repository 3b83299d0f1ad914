/** What keeps payouts within bounds: threshold, cap, fees, the pause switch, what the wallet holds; and the dry run. */
import { afterEach, describe, expect, it } from 'vitest'
import { smallestBalance } from '../../src/core/money/tokens.ts'
import type { OutgoingWallet } from '../../src/core/payouts/outgoing-wallet.ts'
import type { PayoutLimits } from '../../src/workers/payouts/limits.ts'
import { preview } from '../../src/workers/payouts/plan.ts'
import { dayMs, fee, hourMs, minuteMs, openPayoutFixture, type PayoutFixture, type World } from './payout-fixture.ts'

let fixture: PayoutFixture
afterEach(() => fixture.stop())

/** Two turns: what is planned and sent in the first has landed after the second. */
const paidWith = async (limits: Partial<PayoutLimits>, owed: Readonly<Record<string, bigint>>) => {
  fixture = openPayoutFixture(limits)
  await fixture.owe(owed)
  await fixture.run(2)
  return Object.fromEntries(fixture.got)
}

describe('a limit', () => {
  it.each<[string, Partial<PayoutLimits>, Readonly<Record<string, bigint>>, Readonly<Record<string, bigint>>]>([
    ['none that bites', {}, { ann: 60n, bob: 10n }, { ann: 60n, bob: 10n }],
    ['the least that is sent to anybody', { least: 50n }, { ann: 50n, bob: 49n }, { ann: 50n }],
    [
      'the most that is sent within a day',
      { dailyCap: 100n },
      { ann: 60n, bob: 50n, cat: 40n },
      // What is left is saved for bob, who has waited longer than cat.
      { ann: 60n },
    ],
    ['a cap that is less than what is owed to one', { dailyCap: 30n }, { ann: 60n, bob: 20n }, { bob: 20n }],
    [
      'no fees for a second transaction',
      { dailyFees: fee },
      { a: 50n, b: 40n, c: 30n, d: 20n },
      { a: 50n, b: 40n, c: 30n },
    ],
    ['no fees at all', { dailyFees: fee - 1n }, { ann: 60n }, {}],
  ])('bites: %s', async (_name, limits, owed, paid) => {
    expect(await paidWith(limits, owed)).toEqual(paid)
  })

  it('of a day is over after it', async () => {
    await paidWith({ dailyCap: 100n }, { ann: 60n, bob: 50n })
    expect(fixture.told).toEqual(['the limit for 24 hours is reached'])
    fixture.pass(dayMs - minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('bob')).toBeUndefined()
    fixture.pass(2 * minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('bob')).toBe(50n)
  })

  it('of fees counts repeated signings, and resets after a day', async () => {
    fixture = openPayoutFixture({ dailyFees: 2n * fee, everyMs: 1 })
    await fixture.owe({ ann: 60n })
    fixture.world.outcome = 'expired'
    // Planned and signed; found to be expired; signed again.
    await fixture.run(3)
    fixture.world.outcome = 'landed'
    await fixture.owe({ bob: 50n })
    fixture.pass(minuteMs)
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n })
    expect(fixture.told).toEqual(['the limit of fees for 24 hours is reached'])
    fixture.pass(dayMs + 1)
    await fixture.run(2)
    expect(fixture.got.get('bob')).toBe(50n)
  })

  it('of fees applies to repeated signings, which wait and are paid the next day', async () => {
    fixture = openPayoutFixture({ dailyFees: 2n * fee, everyMs: 1 })
    await fixture.owe({ ann: 60n })
    fixture.world.outcome = 'expired'
    await fixture.run(8)
    expect(await fixture.outgoing.open()).toMatchObject([{ state: 'planned', attempts: 2 }])
    expect(fixture.sent).toHaveLength(2)
    expect(fixture.told).toEqual(['the limit of fees for 24 hours is reached'])
    fixture.world.outcome = 'landed'
    fixture.pass(dayMs - minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBeUndefined()
    fixture.pass(2 * minuteMs)
    await fixture.run(2)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n })
    expect(await fixture.rewards.audit()).toEqual([])
  })

  it('of fees holds for all that are signed at the same time', async () => {
    fixture = openPayoutFixture({ dailyFees: 5n * fee, everyMs: 1 })
    fixture.world.fit = 1
    fixture.world.signing = () => ({ kind: 'unavailable', why: 'no node answers' })
    await fixture.owe(Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`p${index}`, 100n])))
    for (let turn = 0; turn < 4; turn += 1) {
      fixture.pass(minuteMs)
      await fixture.run()
    }
    fixture.world.signing = () => undefined
    await fixture.run(6)
    expect(fixture.got.size).toBe(5)
    fixture.pass(dayMs + minuteMs)
    await fixture.run(3)
    expect(fixture.got.size).toBe(10)
  })

  it('T157: of fees holds for workers that do not know of the next signing of each other', async () => {
    fixture = openPayoutFixture({ dailyFees: 5n * fee })
    fixture.world.fit = 1
    await fixture.owe(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, 100n])))
    const { outgoingWallet } = fixture.parts
    // All have looked at what is left before any of them has signed.
    let release = () => {}
    const all = new Promise<void>((resolve) => {
      release = resolve
    })
    let waiting = 0
    const slow: OutgoingWallet = {
      ...outgoingWallet,
      sign: async (order) => {
        waiting += 1
        if (waiting === 8) release()
        await all
        return outgoingWallet.sign(order)
      },
    }
    const workers = [fixture.another({ outgoingWallet: slow }), fixture.another({ outgoingWallet: slow })]
    await Promise.all(workers.map((worker) => worker.run()))
    expect(waiting).toBeGreaterThanOrEqual(8)
    expect([await fixture.outgoing.signings(0), fixture.sent.length]).toEqual([5n, 5])
    expect(new Set(fixture.told)).toEqual(new Set(['the limit of fees for 24 hours is reached']))
  })

  it('of fees is not used up for good by one that fails over and over', async () => {
    fixture = openPayoutFixture({ dailyFees: 4n * fee, everyMs: 1 })
    fixture.world.outcome = 'expired'
    await fixture.owe({ bad: 100n })
    for (let day = 0; day < 4; day += 1) {
      await fixture.run(12)
      fixture.pass(dayMs + 1)
    }
    expect(await fixture.outgoing.open()).toMatchObject([{ attempts: 16 }])
    fixture.world.outcome = 'landed'
    await fixture.owe({ good: 50n })
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ bad: 100n, good: 50n })
  })

  it('of a day is filled with parts of the owed amounts; a payee with a part has had its turn', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    for (let accrual = 0; accrual < 25; accrual += 1) await fixture.owe({ ann: 10n })
    await fixture.owe({ bob: 35n })
    const got = async () => {
      fixture.pass(1)
      await fixture.run(3)
      return Object.fromEntries(fixture.got)
    }
    expect(await got()).toEqual({ ann: 100n })
    expect(fixture.told).toEqual(['the limit for 24 hours is reached'])
    for (const ann of [160n, 250n]) {
      fixture.pass(dayMs + minuteMs)
      expect(await got()).toEqual({ ann, bob: 35n })
    }
    const lines = await fixture.outgoing.linesOf({ role: 'developer', payee: 'ann' }, 10)
    expect(lines.map(({ from, through, gross }) => [from, through, gross])).toEqual([
      ...[
        [16, 25, 90n],
        [10, 16, 60n],
        [0, 10, 100n],
      ],
    ])
    expect(await fixture.rewards.audit()).toEqual([])
  })

  it.each<[string, (hour: number) => string]>([
    ['the same few', (hour) => `small${hour % 4}`],
    ['somebody new each time', (hour) => `small${hour}`],
  ])('of a day makes no payee wait endlessly, for any number of small shares of %s', async (_name, nameOf) => {
    fixture = openPayoutFixture({ dailyCap: 100n, least: 1n })
    // Somebody who was paid before, so that newcomers cannot pass for having waited longer.
    await fixture.owe({ big: 1n })
    const hours = async (from: number, to: number) => {
      for (let hour = from; hour < to; hour += 1) {
        await fixture.owe({ [nameOf(hour)]: 3n })
        fixture.pass(dayMs / 20 + 1)
        await fixture.run(3)
      }
    }
    await hours(0, 40)
    await fixture.owe({ big: 50n })
    await hours(40, 61)
    expect(fixture.got.get('big')).toBe(51n)
    await hours(61, 101)
    expect([...fixture.got.values()].reduce((sum, units) => sum + units, 0n)).toBe(51n + 3n * 101n)
  })

  it('of a day is not used up for long by one payee with a very high amount, in payments of any size', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    for (let accrual = 0; accrual < 20; accrual += 1) await fixture.owe({ ann: 90n })
    await fixture.owe({ bob: 35n, cat: 35n })
    fixture.pass(1)
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 90n })
    fixture.pass(dayMs + minuteMs)
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 90n, bob: 35n, cat: 35n })
    fixture.pass(dayMs + minuteMs)
    await fixture.run(3)
    expect(fixture.got.get('ann')).toBe(180n)
  })

  it('of a day lets a part go that is less than the least, where the rest can follow only then', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    await fixture.owe({ ann: 5n })
    await fixture.owe({ ann: 98n })
    await fixture.run(3)
    expect(fixture.got.get('ann')).toBe(5n)
    fixture.pass(dayMs + minuteMs)
    await fixture.run(3)
    expect(fixture.got.get('ann')).toBe(103n)
  })

  it('of a day lets no such part go where a larger one can go later', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    await fixture.owe({ ann: 92n })
    for (let accrual = 0; accrual < 30; accrual += 1) await fixture.owe({ bob: 5n })
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 92n })
    expect(fixture.told).toEqual(['the limit for 24 hours is reached'])
    fixture.pass(dayMs + minuteMs)
    await fixture.run(3)
    expect(fixture.got.get('bob')).toBe(100n)
  })

  it('of a day that never suffices for a first part is reported, and delays no other payee', async () => {
    fixture = openPayoutFixture({ dailyCap: 1_000_000n, everyMs: 1 })
    fixture.world.accounts?.set('ann', 'missing')
    // An account costs 600,000.
    for (let accrual = 0; accrual < 4; accrual += 1) await fixture.owe({ ann: 500_000n })
    await fixture.owe({ bob: 900_000n })
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ bob: 900_000n })
    const why = 'rewards.dailyCap is too low for the first part of the owed amount'
    expect(fixture.told).toEqual(['the limit for 24 hours is reached', why])
    const name = { role: 'developer', payee: 'ann' } as const
    expect(await fixture.rewards.payee(name)).toMatchObject({ owed: 2_000_000n, why: `${why}; raise it` })
  })

  it('of a day below the share of one payment is reported, with the next step', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    await fixture.owe({ ann: 101n })
    await fixture.owe({ ann: 5n, bob: 100n })
    await fixture.run(3)
    expect(Object.fromEntries(fixture.got)).toEqual({ bob: 100n })
    const why = 'one payment earned 0.000000101 NATIVE, which is more than rewards.dailyCap'
    expect(fixture.told).toEqual(['the limit for 24 hours is reached', why])
    const name = { role: 'developer', payee: 'ann' } as const
    expect(await fixture.rewards.payee(name)).toMatchObject({ owed: 106n, why: `${why}; raise it` })
    const raised = fixture.another({ limits: { ...fixture.parts.limits, dailyCap: 210n } })
    fixture.pass(hourMs)
    for (let turn = 0; turn < 2; turn += 1) await raised.run()
    expect(fixture.got.get('ann')).toBe(106n)
  })

  it('of one transfer leads to payment in parts', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.units = 10n ** 21n
    const most = 2n ** 64n - 1n
    await fixture.owe({ ann: most })
    await fixture.owe({ ann: 20n })
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(most)
    fixture.pass(minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(most + 20n)
  })

  it('that is reached is looked at again after a minute, and not before', async () => {
    fixture = openPayoutFixture({ dailyFees: fee - 1n })
    await fixture.owe({ ann: 60n })
    let looks = 0
    const due: typeof fixture.rewards.due = (...asked) => {
      looks += 1
      return fixture.rewards.due(...asked)
    }
    const worker = fixture.another({ rewards: { ...fixture.rewards, due } })
    for (let turn = 0; turn < 3; turn += 1) await worker.run()
    expect(looks).toBe(1)
    fixture.pass(minuteMs)
    await worker.run()
    expect(looks).toBe(2)
  })

  it('T150: of a day holds for two workers that do not know the plans of each other', async () => {
    fixture = openPayoutFixture({ dailyCap: 100n, everyMs: 1 })
    fixture.world.fit = 1
    await fixture.owe({ ann: 60n, bob: 50n, cat: 40n })
    const outgoing = { ...fixture.outgoing, planned: async () => 0n }
    const [one, other] = [fixture.another({ outgoing }), fixture.another({ outgoing })]
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.all([one.run(), other.run()])
      fixture.pass(minuteMs)
    }
    expect([...fixture.got.values()].reduce((sum, units) => sum + units, 0n)).toBeLessThanOrEqual(100n)
    expect(fixture.got.get('ann')).toBe(60n)
  })

  it('of the transactions that are under way holds back the rest until they land', async () => {
    fixture = openPayoutFixture()
    fixture.world.fit = 1
    fixture.world.outcome = 'open'
    await fixture.owe(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`p${index}`, 100n])))
    await fixture.run(3)
    expect(await fixture.outgoing.open()).toHaveLength(128)
    fixture.world.outcome = 'landed'
    await fixture.run(2)
    expect(fixture.got.size).toBe(200)
  })
})

describe('paused', () => {
  it('plans and signs nothing, and follows sent transactions', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    await fixture.owe({ ann: 60n })
    await fixture.run()
    fixture.world.isPaused = true
    await fixture.owe({ bob: 50n })
    fixture.pass(minuteMs)
    await fixture.run(2)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n })
    expect(await fixture.outgoing.list({ most: 10 })).toHaveLength(1)
    fixture.world.isPaused = false
    await fixture.run(2)
    expect(fixture.got.get('bob')).toBe(50n)
  })

  it('leaves planned transactions alone', async () => {
    fixture = openPayoutFixture()
    fixture.world.signing = () => ({ kind: 'unavailable', why: 'no node answers' })
    await fixture.owe({ ann: 60n })
    await fixture.run()
    fixture.world.isPaused = true
    fixture.world.signing = () => undefined
    await fixture.run(2)
    expect(await fixture.outgoing.open()).toMatchObject([{ state: 'planned' }])
    fixture.world.isPaused = false
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(60n)
  })

  it('signs nothing more from then on, and does not send a transaction that was just being signed', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.fit = 1
    await fixture.owe(Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`p${index}`, 100n])))
    let signings = 0
    fixture.world.signing = () => {
      signings += 1
      if (signings === 40) fixture.world.isPaused = true
      return undefined
    }
    await fixture.run(3)
    expect(fixture.sent.length).toBeLessThan(40)
    // As many as are worked on at the same time were begun already.
    expect(signings).toBeLessThan(40 + 16)
    const signed = signings
    fixture.pass(hourMs)
    await fixture.run(2)
    expect(signings).toBe(signed)
    fixture.world.isPaused = false
    fixture.pass(minuteMs)
    await fixture.run(3)
    expect(fixture.got.size).toBe(120)
    expect([...fixture.got.values()].every((units) => units === 100n)).toBe(true)
    expect(await fixture.rewards.audit()).toEqual([])
  })

  it('reserves nothing more from then on', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.fit = 1
    await fixture.owe({ ann: 60n, bob: 50n, cat: 40n })
    const plan: typeof fixture.outgoing.plan = (order) => {
      fixture.world.isPaused = true
      return fixture.outgoing.plan(order)
    }
    await fixture.another({ outgoing: { ...fixture.outgoing, plan } }).run()
    expect(await fixture.outgoing.open()).toMatchObject([{ state: 'planned' }])
    expect(fixture.sent).toEqual([])
  })
})

describe('a wallet that holds too little', () => {
  it('pays in the order of due times, reports the missing amount, and pays the others soon after a deposit', async () => {
    fixture = openPayoutFixture()
    fixture.world.units = 70n
    await fixture.owe({ ann: 60n, bob: 50n, cat: 10n })
    await fixture.run(2)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n })
    expect(fixture.told[0]).toMatch(/holds 0.00000007 NATIVE and needs 0.00000012; send it more$/)
    fixture.world.units = 60n
    fixture.pass(minuteMs)
    await fixture.run(2)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n, bob: 50n, cat: 10n })
  })

  it('pays a part of the amount of one payee', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.units = 35n
    for (let accrual = 0; accrual < 5; accrual += 1) await fixture.owe({ ann: 10n })
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(30n)
    fixture.world.units = 35n
    fixture.pass(minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(50n)
  })

  it('does not spend amounts that are reserved for open transactions', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.units = 70n
    fixture.world.outcome = 'open'
    await fixture.owe({ ann: 60n })
    await fixture.run()
    await fixture.owe({ bob: 50n })
    fixture.pass(minuteMs)
    await fixture.run()
    expect(fixture.sent).toEqual([['ann']])
  })

  it('waits for SOL with its planned transactions', async () => {
    fixture = openPayoutFixture()
    // The wallet must keep the rent-exempt minimum.
    fixture.world.lamports = fee + smallestBalance - 1n
    await fixture.owe({ ann: 60n })
    await fixture.run(2)
    expect(fixture.sent).toEqual([])
    expect(fixture.told).toEqual([expect.stringMatching(/holds 0.000895879 SOL and needs 0.00089588 for fees/)])
    fixture.world.lamports = fee + smallestBalance
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(60n)
  })

  it('needs the rent of accounts that it opens as well', async () => {
    fixture = openPayoutFixture()
    fixture.world.accounts?.set('ann', 'missing')
    fixture.world.lamports = fee + smallestBalance + 1_999n
    await fixture.owe({ ann: 10_000_000n })
    await fixture.run(2)
    expect(fixture.sent).toEqual([])
    fixture.world.lamports = fee + smallestBalance + 2_000n
    await fixture.run(2)
    // 2,000 lamports at 150 for NATIVE at 0.5.
    expect(fixture.got.get('ann')).toBe(10_000_000n - 600_000n)
  })
})

describe('payees that cannot be paid now', () => {
  it.each<[string, (world: World) => void, number]>([
    [
      'whose payment no node tells of',
      (world) => {
        world.finding = () => ({ kind: 'unavailable', why: 'no node answers' })
      },
      minuteMs,
    ],
    [
      'whose payment no node has',
      (world) => {
        world.finding = () => ({ kind: 'lost', why: 'no node has the payment' })
      },
      dayMs,
    ],
    [
      'whose account is frozen',
      (world) => {
        world.accounts = new Map([['ann', 'frozen']])
      },
      dayMs,
    ],
    [
      'whose account would cost too much',
      (world) => {
        world.accounts = new Map([['ann', 'missing']])
      },
      5 * minuteMs,
    ],
    [
      'who alone cannot be sent anything',
      (world) => {
        world.signing = () => ({ kind: 'impossible', why: 'it would fail' })
      },
      hourMs,
    ],
    [
      'who is to blame',
      (world) => {
        world.signing = () => ({ kind: 'impossible', why: 'it would fail', transfer: 0 })
      },
      dayMs,
    ],
  ])('T155: is looked at again after a while: %s', async (_name, spoil, forMs) => {
    fixture = openPayoutFixture({ everyMs: 1 })
    const sound = { ...fixture.world }
    spoil(fixture.world)
    await fixture.owe({ ann: 60n })
    await fixture.run(2)
    expect(await fixture.rewards.payee({ role: 'developer', payee: 'ann' })).toMatchObject({
      why: expect.stringMatching(/./),
    })
    Object.assign(fixture.world, sound, { accounts: new Map() })
    fixture.pass(forMs - 1_000)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBeUndefined()
    fixture.pass(1_001)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(60n)
  })

  it('delays no other payee: without a known cause, each is tried alone', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    fixture.world.signing = ({ transfers }) =>
      transfers.some(({ owner }) => owner === 'bob') ? { kind: 'impossible', why: 'it would fail' } : undefined
    await fixture.owe({ ann: 60n, bob: 50n, cat: 40n })
    for (let turn = 0; turn < 4; turn += 1) {
      fixture.pass(minuteMs)
      await fixture.run()
    }
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n, cat: 40n })
    expect(await fixture.rewards.payee({ role: 'developer', payee: 'bob' })).toMatchObject({
      why: 'it would fail',
      reserved: 0n,
    })
    // Whoever was paid alone is paid among others again.
    await fixture.owe({ ann: 60n, cat: 40n })
    fixture.pass(minuteMs)
    await fixture.run()
    expect(fixture.sent.at(-1)).toEqual(['ann', 'cat'])
  })

  it('delays no other payee if it fails only on chain, and costs only a few fees a day', async () => {
    fixture = openPayoutFixture({ everyMs: 1 })
    const { outgoingWallet } = fixture.parts
    const bad = new Set<string>()
    const failing: OutgoingWallet = {
      ...outgoingWallet,
      sign: async (order) => {
        const signing = await outgoingWallet.sign(order)
        const isBad = order.transfers.some(({ owner }) => owner === 'bob')
        if (signing.kind === 'signed' && isBad) bad.add(signing.signed.signature)
        return signing
      },
      readOutcome: async (signed) =>
        bad.has(signed.signature)
          ? { kind: 'failed', slot: 2, why: 'no such account' }
          : outgoingWallet.readOutcome(signed),
    }
    const worker = fixture.another({ outgoingWallet: failing })
    await fixture.owe({ ann: 60n, bob: 50n, cat: 40n })
    for (let turn = 0; turn < 10 * 60; turn += 1) {
      fixture.pass(minuteMs)
      await worker.run()
    }
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n, cat: 40n })
    expect(await fixture.rewards.payee({ role: 'developer', payee: 'bob' })).toMatchObject({
      why: 'the transaction failed 5 times; last reason: the transaction failed on chain: no such account',
      owed: 50n,
      reserved: 0n,
    })
    // Among others, and alone.
    expect(bad.size).toBe(10)
    fixture.pass(dayMs)
    await worker.run()
    expect(bad.size).toBe(11)
    expect(await fixture.rewards.audit()).toEqual([])
  })

  it('does not hide those behind, however many they are', async () => {
    fixture = openPayoutFixture()
    const lost = Array.from({ length: 1_100 }, (_, index) => [`lost${index}`, 100n] as const)
    await fixture.owe({ ...Object.fromEntries(lost), ann: 60n })
    fixture.world.finding = (payee) =>
      payee === 'ann' ? { kind: 'found', address: 'ann' } : { kind: 'lost', why: 'no node has the payment' }
    await fixture.run(2)
    expect(Object.fromEntries(fixture.got)).toEqual({ ann: 60n })
  })

  it('is empty without a fresh rate, and is checked again soon', async () => {
    fixture = openPayoutFixture()
    const { rates } = fixture.world
    fixture.world.rates = undefined
    await fixture.owe({ ann: 60n })
    await fixture.run(2)
    expect(fixture.told).toEqual(['no current rate of NATIVE is available'])
    fixture.world.rates = rates
    fixture.pass(minuteMs)
    await fixture.run(2)
    expect(fixture.got.get('ann')).toBe(60n)
  })
})

it('however many there are, they go into as few transactions as can be', async () => {
  fixture = openPayoutFixture()
  fixture.world.fit = 18
  await fixture.owe(Object.fromEntries(Array.from({ length: 1_997 }, (_, index) => [`p${index}`, 100n])))
  await fixture.run(2)
  expect(fixture.got.size).toBe(1_997)
  expect(fixture.sent).toHaveLength(Math.ceil(1_997 / 18))
})

it('checks only at intervals for due payees', async () => {
  fixture = openPayoutFixture({ everyMs: hourMs })
  await fixture.run()
  await fixture.owe({ ann: 60n })
  fixture.pass(hourMs - 1)
  await fixture.run(2)
  expect(fixture.sent).toEqual([])
  fixture.pass(1)
  await fixture.run(2)
  expect(fixture.got.get('ann')).toBe(60n)
})

describe('a dry run', () => {
  it('also lists payees without a payment and the reason, and changes nothing', async () => {
    fixture = openPayoutFixture()
    fixture.world.accounts?.set('bob', 'frozen')
    fixture.world.finding = (payee) =>
      payee === 'cat' ? { kind: 'lost', why: 'it is lost' } : { kind: 'found', address: payee }
    await fixture.owe({ ann: 60n, bob: 50n, cat: 40n })
    const before = await fixture.rewards.payees({ most: 10 })
    const found = await preview(fixture.parts, false)
    expect(found).toEqual({
      lines: [{ role: 'developer', payee: 'ann', from: 0, through: 1, gross: 60n, units: 60n, opening: 0n }],
      others: [
        { role: 'developer', payee: 'cat', why: 'it is lost' },
        { role: 'developer', payee: 'bob', why: 'the issuer of the token has frozen the token account' },
      ],
      why: undefined,
      isAll: true,
    })
    expect(await fixture.rewards.payees({ most: 10 })).toEqual(before)
    expect(await fixture.outgoing.list({ most: 10 })).toEqual([])
    expect(fixture.sent).toEqual([])
  })

  it('reports that no payee could be paid', async () => {
    fixture = openPayoutFixture()
    fixture.world.rates = undefined
    await fixture.owe({ ann: 60n })
    expect(await preview(fixture.parts, false)).toMatchObject({
      lines: [],
      why: 'no current rate of NATIVE is available',
    })
  })
})
