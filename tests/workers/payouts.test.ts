/** What keeps payouts within bounds: threshold, cap, fees, the pause switch, what the wallet holds; and the dry run. */
import { afterEach, describe, expect, it } from 'vitest'
import type { OutgoingWallet } from '../../src/core/payouts/outgoing-wallet.ts'
import type { PayoutLimits } from '../../src/workers/payouts/limits.ts'
import { preview } from '../../src/workers/payouts/plan.ts'
import { dayMs, fee, hourMs, minuteMs, type Office, openOffice, type World } from './payout-fixture.ts'

let office: Office
afterEach(() => office.stop())

/** Two turns: what is planned and sent in the first has landed after the second. */
const paidWith = async (limits: Partial<PayoutLimits>, owed: Readonly<Record<string, bigint>>) => {
  office = openOffice(limits)
  await office.owe(owed)
  await office.run(2)
  return Object.fromEntries(office.got)
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
    expect(office.told).toEqual(['the most for 24 hours is reached'])
    office.pass(dayMs - minuteMs)
    await office.run(2)
    expect(office.got.get('bob')).toBeUndefined()
    office.pass(2 * minuteMs)
    await office.run(2)
    expect(office.got.get('bob')).toBe(50n)
  })

  it('of fees counts what was signed again, and is over after a day', async () => {
    office = openOffice({ dailyFees: 2n * fee, everyMs: 1 })
    await office.owe({ ann: 60n })
    office.world.outcome = 'expired'
    // Planned and signed; found to be expired; signed again.
    await office.run(3)
    office.world.outcome = 'landed'
    await office.owe({ bob: 50n })
    office.pass(minuteMs)
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n })
    expect(office.told).toEqual(['the fees of 24 hours are spent'])
    office.pass(dayMs + 1)
    await office.run(2)
    expect(office.got.get('bob')).toBe(50n)
  })

  it('of fees holds for what is signed again, which waits and is paid the day after', async () => {
    office = openOffice({ dailyFees: 2n * fee, everyMs: 1 })
    await office.owe({ ann: 60n })
    office.world.outcome = 'expired'
    await office.run(8)
    expect(await office.dispatches.open()).toMatchObject([{ state: 'planned', attempts: 2 }])
    expect(office.sent).toHaveLength(2)
    expect(office.told).toEqual(['the fees of 24 hours are spent'])
    office.world.outcome = 'landed'
    office.pass(dayMs - minuteMs)
    await office.run(2)
    expect(office.got.get('ann')).toBeUndefined()
    office.pass(2 * minuteMs)
    await office.run(2)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n })
    expect(await office.rewards.audit()).toEqual([])
  })

  it('of fees holds for all that are signed at the same time', async () => {
    office = openOffice({ dailyFees: 5n * fee, everyMs: 1 })
    office.world.fit = 1
    office.world.signing = () => ({ kind: 'unavailable', why: 'no node answers' })
    await office.owe(Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`p${index}`, 100n])))
    for (let turn = 0; turn < 4; turn += 1) {
      office.pass(minuteMs)
      await office.run()
    }
    office.world.signing = () => undefined
    await office.run(6)
    expect(office.got.size).toBe(5)
    office.pass(dayMs + minuteMs)
    await office.run(3)
    expect(office.got.size).toBe(10)
  })

  it('T157: of fees holds for workers of whom neither knows what the others are about to sign', async () => {
    office = openOffice({ dailyFees: 5n * fee })
    office.world.fit = 1
    await office.owe(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, 100n])))
    const { outgoingWallet } = office.parts
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
    const workers = [office.another({ outgoingWallet: slow }), office.another({ outgoingWallet: slow })]
    await Promise.all(workers.map((worker) => worker.run()))
    expect(waiting).toBeGreaterThanOrEqual(8)
    expect([await office.dispatches.signings(0), office.sent.length]).toEqual([5n, 5])
    expect(new Set(office.told)).toEqual(new Set(['the fees of 24 hours are spent']))
  })

  it('of fees is not used up for good by one that fails over and over', async () => {
    office = openOffice({ dailyFees: 4n * fee, everyMs: 1 })
    office.world.outcome = 'expired'
    await office.owe({ bad: 100n })
    for (let day = 0; day < 4; day += 1) {
      await office.run(12)
      office.pass(dayMs + 1)
    }
    expect(await office.dispatches.open()).toMatchObject([{ attempts: 16 }])
    office.world.outcome = 'landed'
    await office.owe({ good: 50n })
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ bad: 100n, good: 50n })
  })

  it('of a day is filled up with parts of what is owed; who got one has had their turn', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    for (let accrual = 0; accrual < 25; accrual += 1) await office.owe({ ann: 10n })
    await office.owe({ bob: 35n })
    const got = async () => {
      office.pass(1)
      await office.run(3)
      return Object.fromEntries(office.got)
    }
    expect(await got()).toEqual({ ann: 100n })
    expect(office.told).toEqual(['the most for 24 hours is reached'])
    for (const ann of [160n, 250n]) {
      office.pass(dayMs + minuteMs)
      expect(await got()).toEqual({ ann, bob: 35n })
    }
    const lines = await office.dispatches.linesOf({ role: 'developer', payee: 'ann' }, 10)
    expect(lines.map(({ from, upto, gross }) => [from, upto, gross])).toEqual([
      ...[
        [16, 25, 90n],
        [10, 16, 60n],
        [0, 10, 100n],
      ],
    ])
    expect(await office.rewards.audit()).toEqual([])
  })

  it.each<[string, (hour: number) => string]>([
    ['the same few', (hour) => `small${hour % 4}`],
    ['somebody new each time', (hour) => `small${hour}`],
  ])('of a day keeps nobody waiting for ever, however much trickles in for %s', async (_name, nameOf) => {
    office = openOffice({ dailyCap: 100n, least: 1n })
    // Somebody who was paid before, so that newcomers cannot pass for having waited longer.
    await office.owe({ big: 1n })
    const hours = async (from: number, to: number) => {
      for (let hour = from; hour < to; hour += 1) {
        await office.owe({ [nameOf(hour)]: 3n })
        office.pass(dayMs / 20 + 1)
        await office.run(3)
      }
    }
    await hours(0, 40)
    await office.owe({ big: 50n })
    await hours(40, 61)
    expect(office.got.get('big')).toBe(51n)
    await hours(61, 101)
    expect([...office.got.values()].reduce((sum, units) => sum + units, 0n)).toBe(51n + 3n * 101n)
  })

  it('of a day is not taken up for long by one who is owed very much, in payments however large', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    for (let accrual = 0; accrual < 20; accrual += 1) await office.owe({ ann: 90n })
    await office.owe({ bob: 35n, cat: 35n })
    office.pass(1)
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 90n })
    office.pass(dayMs + minuteMs)
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 90n, bob: 35n, cat: 35n })
    office.pass(dayMs + minuteMs)
    await office.run(3)
    expect(office.got.get('ann')).toBe(180n)
  })

  it('of a day lets a part go that is less than the least, where the rest can follow only then', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    await office.owe({ ann: 5n })
    await office.owe({ ann: 98n })
    await office.run(3)
    expect(office.got.get('ann')).toBe(5n)
    office.pass(dayMs + minuteMs)
    await office.run(3)
    expect(office.got.get('ann')).toBe(103n)
  })

  it('of a day lets no such part go where a larger one can go later', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    await office.owe({ ann: 92n })
    for (let accrual = 0; accrual < 30; accrual += 1) await office.owe({ bob: 5n })
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 92n })
    expect(office.told).toEqual(['the most for 24 hours is reached'])
    office.pass(dayMs + minuteMs)
    await office.run(3)
    expect(office.got.get('bob')).toBe(100n)
  })

  it('of a day that never suffices for a first part is told, and keeps nobody else waiting', async () => {
    office = openOffice({ dailyCap: 1_000_000n, everyMs: 1 })
    office.world.accounts?.set('ann', 'missing')
    // An account costs 600,000.
    for (let accrual = 0; accrual < 4; accrual += 1) await office.owe({ ann: 500_000n })
    await office.owe({ bob: 900_000n })
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ bob: 900_000n })
    const why = 'what rewards.dailyCap lets out in 24 hours is too little for the first part of what is owed'
    expect(office.told).toEqual(['the most for 24 hours is reached', why])
    const name = { role: 'developer', payee: 'ann' } as const
    expect(await office.rewards.payee(name)).toMatchObject({ owed: 2_000_000n, why: `${why}; raise it` })
  })

  it('of a day that is less than what one payment earned is told, with what to do about it', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    await office.owe({ ann: 101n })
    await office.owe({ ann: 5n, bob: 100n })
    await office.run(3)
    expect(Object.fromEntries(office.got)).toEqual({ bob: 100n })
    const why = 'one payment earned 0.000000101 NATIVE, more than rewards.dailyCap lets out in 24 hours'
    expect(office.told).toEqual(['the most for 24 hours is reached', why])
    const name = { role: 'developer', payee: 'ann' } as const
    expect(await office.rewards.payee(name)).toMatchObject({ owed: 106n, why: `${why}; raise it` })
    const raised = office.another({ limits: { ...office.parts.limits, dailyCap: 210n } })
    office.pass(hourMs)
    for (let turn = 0; turn < 2; turn += 1) await raised.run()
    expect(office.got.get('ann')).toBe(106n)
  })

  it('of what one transfer can carry is paid in parts', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.units = 10n ** 21n
    const most = 2n ** 64n - 1n
    await office.owe({ ann: most })
    await office.owe({ ann: 20n })
    await office.run(2)
    expect(office.got.get('ann')).toBe(most)
    office.pass(minuteMs)
    await office.run(2)
    expect(office.got.get('ann')).toBe(most + 20n)
  })

  it('that is reached is looked at again after a minute, and not before', async () => {
    office = openOffice({ dailyFees: fee - 1n })
    await office.owe({ ann: 60n })
    let looks = 0
    const due: typeof office.rewards.due = (...asked) => {
      looks += 1
      return office.rewards.due(...asked)
    }
    const worker = office.another({ rewards: { ...office.rewards, due } })
    for (let turn = 0; turn < 3; turn += 1) await worker.run()
    expect(looks).toBe(1)
    office.pass(minuteMs)
    await worker.run()
    expect(looks).toBe(2)
  })

  it('T150: of a day holds for two workers of whom neither knows what the other has planned', async () => {
    office = openOffice({ dailyCap: 100n, everyMs: 1 })
    office.world.fit = 1
    await office.owe({ ann: 60n, bob: 50n, cat: 40n })
    const dispatches = { ...office.dispatches, planned: async () => 0n }
    const [one, other] = [office.another({ dispatches }), office.another({ dispatches })]
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.all([one.run(), other.run()])
      office.pass(minuteMs)
    }
    expect([...office.got.values()].reduce((sum, units) => sum + units, 0n)).toBeLessThanOrEqual(100n)
    expect(office.got.get('ann')).toBe(60n)
  })

  it('of the transactions that are under way holds back the rest until they land', async () => {
    office = openOffice()
    office.world.fit = 1
    office.world.outcome = 'open'
    await office.owe(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`p${index}`, 100n])))
    await office.run(3)
    expect(await office.dispatches.open()).toHaveLength(128)
    office.world.outcome = 'landed'
    await office.run(2)
    expect(office.got.size).toBe(200)
  })
})

describe('paused', () => {
  it('plans nothing and signs nothing, and what was sent is followed', async () => {
    office = openOffice({ everyMs: 1 })
    await office.owe({ ann: 60n })
    await office.run()
    office.world.isPaused = true
    await office.owe({ bob: 50n })
    office.pass(minuteMs)
    await office.run(2)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n })
    expect(await office.dispatches.list({ most: 10 })).toHaveLength(1)
    office.world.isPaused = false
    await office.run(2)
    expect(office.got.get('bob')).toBe(50n)
  })

  it('leaves alone what is only planned', async () => {
    office = openOffice()
    office.world.signing = () => ({ kind: 'unavailable', why: 'no node answers' })
    await office.owe({ ann: 60n })
    await office.run()
    office.world.isPaused = true
    office.world.signing = () => undefined
    await office.run(2)
    expect(await office.dispatches.open()).toMatchObject([{ state: 'planned' }])
    office.world.isPaused = false
    await office.run(2)
    expect(office.got.get('ann')).toBe(60n)
  })

  it('signs nothing more from then on, and what was being signed just then is not sent', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.fit = 1
    await office.owe(Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`p${index}`, 100n])))
    let signings = 0
    office.world.signing = () => {
      signings += 1
      if (signings === 40) office.world.isPaused = true
      return undefined
    }
    await office.run(3)
    expect(office.sent.length).toBeLessThan(40)
    // As many as are worked on at the same time were begun already.
    expect(signings).toBeLessThan(40 + 16)
    const signed = signings
    office.pass(hourMs)
    await office.run(2)
    expect(signings).toBe(signed)
    office.world.isPaused = false
    office.pass(minuteMs)
    await office.run(3)
    expect(office.got.size).toBe(120)
    expect([...office.got.values()].every((units) => units === 100n)).toBe(true)
    expect(await office.rewards.audit()).toEqual([])
  })

  it('reserves nothing more from then on', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.fit = 1
    await office.owe({ ann: 60n, bob: 50n, cat: 40n })
    const plan: typeof office.dispatches.plan = (order) => {
      office.world.isPaused = true
      return office.dispatches.plan(order)
    }
    await office.another({ dispatches: { ...office.dispatches, plan } }).run()
    expect(await office.dispatches.open()).toMatchObject([{ state: 'planned' }])
    expect(office.sent).toEqual([])
  })
})

describe('a wallet that holds too little', () => {
  it('pays who has waited longest, says what it needs, and pays the others soon after it is filled', async () => {
    office = openOffice()
    office.world.units = 70n
    await office.owe({ ann: 60n, bob: 50n, cat: 10n })
    await office.run(2)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n })
    expect(office.told[0]).toMatch(/holds 0.00000007 NATIVE and needs 0.00000012; send it there$/)
    office.world.units = 60n
    office.pass(minuteMs)
    await office.run(2)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n, bob: 50n, cat: 10n })
  })

  it('pays part of what is owed to one', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.units = 35n
    for (let accrual = 0; accrual < 5; accrual += 1) await office.owe({ ann: 10n })
    await office.run(2)
    expect(office.got.get('ann')).toBe(30n)
    office.world.units = 35n
    office.pass(minuteMs)
    await office.run(2)
    expect(office.got.get('ann')).toBe(50n)
  })

  it('does not count on what is reserved for what is under way', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.units = 70n
    office.world.outcome = 'open'
    await office.owe({ ann: 60n })
    await office.run()
    await office.owe({ bob: 50n })
    office.pass(minuteMs)
    await office.run()
    expect(office.sent).toEqual([['ann']])
  })

  it('waits for SOL with what it has planned', async () => {
    office = openOffice()
    office.world.lamports = fee - 1n
    await office.owe({ ann: 60n })
    await office.run(2)
    expect(office.sent).toEqual([])
    expect(office.told).toEqual([expect.stringMatching(/holds 0.000004999 SOL and needs 0.000005 for fees/)])
    office.world.lamports = fee
    await office.run(2)
    expect(office.got.get('ann')).toBe(60n)
  })

  it('needs the rent of accounts that it opens as well', async () => {
    office = openOffice()
    office.world.accounts?.set('ann', 'missing')
    office.world.lamports = fee + 1_999n
    await office.owe({ ann: 10_000_000n })
    await office.run(2)
    expect(office.sent).toEqual([])
    office.world.lamports = fee + 2_000n
    await office.run(2)
    // 2,000 lamports at 150 for NATIVE at 0.5.
    expect(office.got.get('ann')).toBe(10_000_000n - 600_000n)
  })
})

describe('who cannot be paid now', () => {
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
    office = openOffice({ everyMs: 1 })
    const sound = { ...office.world }
    spoil(office.world)
    await office.owe({ ann: 60n })
    await office.run(2)
    expect(await office.rewards.payee({ role: 'developer', payee: 'ann' })).toMatchObject({
      why: expect.stringMatching(/./),
    })
    Object.assign(office.world, sound, { accounts: new Map() })
    office.pass(forMs - 1_000)
    await office.run(2)
    expect(office.got.get('ann')).toBeUndefined()
    office.pass(1_001)
    await office.run(2)
    expect(office.got.get('ann')).toBe(60n)
  })

  it('holds up nobody: where nobody is known to be to blame, each is tried alone', async () => {
    office = openOffice({ everyMs: 1 })
    office.world.signing = ({ transfers }) =>
      transfers.some(({ owner }) => owner === 'bob') ? { kind: 'impossible', why: 'it would fail' } : undefined
    await office.owe({ ann: 60n, bob: 50n, cat: 40n })
    for (let turn = 0; turn < 4; turn += 1) {
      office.pass(minuteMs)
      await office.run()
    }
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n, cat: 40n })
    expect(await office.rewards.payee({ role: 'developer', payee: 'bob' })).toMatchObject({
      why: 'it would fail',
      reserved: 0n,
    })
    // Whoever was paid alone is paid among others again.
    await office.owe({ ann: 60n, cat: 40n })
    office.pass(minuteMs)
    await office.run()
    expect(office.sent.at(-1)).toEqual(['ann', 'cat'])
  })

  it('holds up nobody either when it is only seen on chain, and costs no more than a few fees a day', async () => {
    office = openOffice({ everyMs: 1 })
    const { outgoingWallet } = office.parts
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
    const worker = office.another({ outgoingWallet: failing })
    await office.owe({ ann: 60n, bob: 50n, cat: 40n })
    for (let turn = 0; turn < 10 * 60; turn += 1) {
      office.pass(minuteMs)
      await worker.run()
    }
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n, cat: 40n })
    expect(await office.rewards.payee({ role: 'developer', payee: 'bob' })).toMatchObject({
      why: 'it failed 5 times, and then: it failed on chain: no such account',
      owed: 50n,
      reserved: 0n,
    })
    // Among others, and alone.
    expect(bad.size).toBe(10)
    office.pass(dayMs)
    await worker.run()
    expect(bad.size).toBe(11)
    expect(await office.rewards.audit()).toEqual([])
  })

  it('does not hide those behind, however many they are', async () => {
    office = openOffice()
    const lost = Array.from({ length: 1_100 }, (_, index) => [`lost${index}`, 100n] as const)
    await office.owe({ ...Object.fromEntries(lost), ann: 60n })
    office.world.finding = (payee) =>
      payee === 'ann' ? { kind: 'found', address: 'ann' } : { kind: 'lost', why: 'no node has the payment' }
    await office.run(2)
    expect(Object.fromEntries(office.got)).toEqual({ ann: 60n })
  })

  it('is nobody while there is no fresh rate, and that is asked again soon', async () => {
    office = openOffice()
    const { rates } = office.world
    office.world.rates = undefined
    await office.owe({ ann: 60n })
    await office.run(2)
    expect(office.told).toEqual(['there is no fresh rate of NATIVE'])
    office.world.rates = rates
    office.pass(minuteMs)
    await office.run(2)
    expect(office.got.get('ann')).toBe(60n)
  })
})

it('however many there are, they go into as few transactions as can be', async () => {
  office = openOffice()
  office.world.fit = 18
  await office.owe(Object.fromEntries(Array.from({ length: 1_997 }, (_, index) => [`p${index}`, 100n])))
  await office.run(2)
  expect(office.got.size).toBe(1_997)
  expect(office.sent).toHaveLength(Math.ceil(1_997 / 18))
})

it('looks only every so often whether anybody is to be paid', async () => {
  office = openOffice({ everyMs: hourMs })
  await office.run()
  await office.owe({ ann: 60n })
  office.pass(hourMs - 1)
  await office.run(2)
  expect(office.sent).toEqual([])
  office.pass(1)
  await office.run(2)
  expect(office.got.get('ann')).toBe(60n)
})

describe('a dry run', () => {
  it('tells whom nothing would be paid as well, and why, and changes nothing', async () => {
    office = openOffice()
    office.world.accounts?.set('bob', 'frozen')
    office.world.finding = (payee) =>
      payee === 'cat' ? { kind: 'lost', why: 'it is lost' } : { kind: 'found', address: payee }
    await office.owe({ ann: 60n, bob: 50n, cat: 40n })
    const before = await office.rewards.payees({ most: 10 })
    const found = await preview(office.parts, false)
    expect(found).toEqual({
      lines: [{ role: 'developer', payee: 'ann', from: 0, upto: 1, gross: 60n, units: 60n, opening: 0n }],
      others: [
        { role: 'developer', payee: 'cat', why: 'it is lost' },
        { role: 'developer', payee: 'bob', why: 'the token account is frozen by the issuer of the token' },
      ],
      why: undefined,
      isAll: true,
    })
    expect(await office.rewards.payees({ most: 10 })).toEqual(before)
    expect(await office.dispatches.list({ most: 10 })).toEqual([])
    expect(office.sent).toEqual([])
  })

  it('says when nobody could be paid', async () => {
    office = openOffice()
    office.world.rates = undefined
    await office.owe({ ann: 60n })
    expect(await preview(office.parts, false)).toMatchObject({ lines: [], why: 'there is no fresh rate of NATIVE' })
  })
})
