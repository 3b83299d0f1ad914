/** Who is owed what of the payments: ripened, shared out once, and added up to the last unit. The same in every store. */
import { describe, expect, it } from 'vitest'
import type { Accrual } from '../../src/core/payouts/ports/rewards.ts'
import type { PaymentRecord } from '../../src/core/ports/ledger.ts'
import { useDesk } from './grants-fixture.ts'
import { accrualOf, accrue, developer, lineOf, partner, planOf, rates, rewardsOf } from './payables-fixture.ts'
import { againOf, createPayment, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const minute = 60_000
const hour = 60 * minute
const most = 2n ** 64n - 1n

describe.each(stores)('rewards of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { registered } = desk
  const rewards = () => rewardsOf(desk.ledger)
  const ripe = async () => (await rewards().accruable(1000)).payments
  const conclude = (payment: PaymentRecord, finality: 'finalized' | 'reverted') =>
    desk.journal().conclude([{ tx: payment.tx, finality }])

  describe('payments ripen', () => {
    it('not before rewards are configured', async () => {
      const payment = await registered()
      await conclude(payment, 'finalized')
      await registered({ finality: 'finalized' })
      expect(await rewards().accruable(10)).toEqual({ payments: [], last: 0 })
      await rewards().start()
      await rewards().start()
      expect(await rewards().countAccruable()).toBe(0)
    })

    it('once they are final, for any reason, with their known fields', async () => {
      await rewards().start()
      const facts = { endpoint: '/a\0\ud800"', required: most, received: most, rates }
      const concluded = await registered({ ...facts, paidAt: startOfTests - 3 })
      const lost = await registered({ paidAt: startOfTests - 9 })
      const unfinal = await registered()
      await conclude(concluded, 'finalized')
      await conclude(lost, 'reverted')
      await desk.kindOf(takeOf(unfinal))
      expect((await ripe()).map(({ paidAt }) => paidAt)).toEqual([startOfTests - 3])
      await registered({ finality: 'finalized', paidAt: startOfTests - 2 })
      await desk.ledger.take(takeOf({ ...lost, finality: 'finalized', paidAt: startOfTests - 1 }))
      const found = await ripe()
      expect(found.map(({ paidAt }) => paidAt)).toEqual([startOfTests - 3, startOfTests - 2, startOfTests - 1])
      const { tx, recipient, payer, endpoint, token, required, paidAt, usableUntil } = concluded
      const known = { tx, recipient, payer, endpoint, token, required, paidAt, usableUntil }
      expect(found[0]).toEqual({ ...known, rates, collected: [], isDelivered: false })
      expect(await rewards().countAccruable()).toBe(3)
      expect((await rewards().accruable(2)).payments).toHaveLength(2)
    })

    it('without the parts that other wallets received directly', async () => {
      await rewards().start()
      const splits = [{ recipient: 'partner-1', units: 1_000n }]
      await registered({ finality: 'finalized', required: 9_000n, received: 9_000n, splits })
      expect(await ripe()).toMatchObject([{ required: 9_000n, collected: [] }])
    })

    it('with the parts that the recipient received for other wallets', async () => {
      await rewards().start()
      const splits = [
        { recipient: 'partner-1', units: 1_000n },
        { recipient: 'partner-2', units: 500n },
      ]
      await registered({ finality: 'finalized', splits, isCollected: true })
      expect(await ripe()).toMatchObject([{ required: 10_000n, collected: splits }])
    })

    it('never when they came too late, until a valid one replaces it', async () => {
      await rewards().start()
      const late = createPayment()
      await desk.ledger.recordLate(late)
      await conclude(late, 'finalized')
      await desk.ledger.recordLate(createPayment({ finality: 'finalized' }))
      expect(await rewards().countAccruable()).toBe(0)
      await desk.grantOf(takeOf({ ...late, finality: 'finalized' }))
      expect(await ripe()).toHaveLength(1)
    })

    it('and are delivered with the first that was used of them, a window with its beginning', async () => {
      await rewards().start()
      const final = { finality: 'finalized' } as const
      const [used, counted, file, left] = await Promise.all([
        registered({ ...final, paidAt: 1, allowance: { unit: 'byte', amount: 10n } }),
        registered({ ...final, paidAt: 2 }),
        registered({ ...final, paidAt: 3, allowance: { unit: 'file', amount: 100n } }),
        registered({ ...final, paidAt: 4 }),
      ])
      await registered({ ...final, paidAt: 5, allowance: { unit: 'second', amount: 10n } })
      expect((await ripe()).map(({ isDelivered }) => isDelivered)).toEqual([false, false, false, false, true])
      desk.clock.advance(hour)
      await desk.use(againOf(used), 'delivered')
      await desk.use(againOf(counted), 'partial')
      await desk.use(againOf(file), 'partial')
      await desk.use(againOf(left), 'not_started')
      expect((await ripe()).map(({ isDelivered }) => isDelivered)).toEqual([true, true, true, false, true])
    })

    it('later when they are postponed, in their order all the same', async () => {
      await rewards().start()
      const all = []
      for (const paidAt of [1, 2, 3, 4]) all.push(await registered({ finality: 'finalized', paidAt }))
      const [first, , third] = all
      await rewards().postpone([first?.tx ?? expect.fail(), third?.tx ?? expect.fail()], startOfTests + minute)
      await rewards().postpone([createPayment().tx], startOfTests)
      const times = async (number: number) => (await rewards().accruable(number)).payments.map(({ paidAt }) => paidAt)
      expect(await times(10)).toEqual([2, 4])
      expect(await rewards().countAccruable()).toBe(4)
      desk.clock.advance(minute)
      expect(await times(10)).toEqual([1, 2, 3, 4])
      expect(await times(3)).toEqual([1, 2, 3])
    })

    it('no more once they are shared out', async () => {
      await rewards().start()
      const [one, two, three] = await Promise.all([1, 2, 3].map(() => registered({ finality: 'finalized' })))
      await accrue(rewards(), accrualOf({ 'partner:a': 1n }, { tx: one?.tx ?? expect.fail() }))
      const { tx } = two ?? expect.fail()
      await accrue(rewards(), accrualOf({}, { tx, why: 'no_partner' }))
      expect((await ripe()).map((left) => left.tx)).toEqual([three?.tx])
    })
  })

  describe('accruals', () => {
    it('are numbered as they are written, and read as they were given', async () => {
      const odd: Accrual = accrualOf(
        { 'partner:p\0\ud800': most - 10n, 'developer:d': 3n, 'cashback:c': 2n, 'incentives:i': 1n },
        { endpoint: '/\0"', developer: 'd', spent: 10n ** 24n, worth: 10n ** 24n, rate: 10n ** 20n, units: most },
      )
      const nothing = accrualOf({}, { why: 'insider', rates: undefined, worth: 0n, rate: 0n })
      await accrue(rewards(), odd, nothing)
      await accrue(rewards(), accrualOf({ 'partner:a': 1n }))
      const all = await rewards().accruals(0, 10)
      expect(all.slice(0, 2)).toEqual([
        { ...odd, number: 1 },
        { ...nothing, number: 2 },
      ])
      expect((await rewards().accruals(1, 1)).map(({ number }) => number)).toEqual([2])
      expect(await rewards().accruals(3, 10)).toEqual([])
    })

    it('return the shares of many payments at once, in the requested order', async () => {
      const whole = 2n * most
      const [first, nothing, last] = [
        accrualOf({ 'partner:p': most, 'developer:d': most - 3n, 'cashback:c': 3n }, { at: startOfTests + 1 }),
        accrualOf({}, { why: 'insider', at: startOfTests + 2 }),
        accrualOf({ 'partner:p': 7n, 'treasury:t': 5n }, { at: startOfTests + 3 }),
      ]
      // Others lie between them, in time and in number.
      await accrue(rewards(), first, accrualOf({ 'partner:p': 100n }), nothing, accrualOf({ 'partner:q': 9n }), last)
      const asked = [last.tx, createPayment().tx, nothing.tx, first.tx, last.tx]
      const told = { at: startOfTests + 3, units: 12n, why: '' }
      expect(await rewards().shared(asked)).toEqual([
        told,
        undefined,
        { at: startOfTests + 2, units: 0n, why: 'insider' },
        { at: startOfTests + 1, units: whole, why: '' },
        told,
      ])
      expect(await rewards().shared([])).toEqual([])
      await expect(rewards().shared([new Uint8Array(3)])).rejects.toThrow(RangeError)
    })

    it('are refused if another worker was first, and nothing changes', async () => {
      const [first, second] = [accrualOf({ 'partner:a': 5n }), accrualOf({ 'partner:a': 7n })]
      expect(await rewards().accrue(0, [first])).toBe(true)
      expect(await rewards().accrue(0, [second])).toBe(false)
      expect(await rewards().accrue(2, [second])).toBe(false)
      expect((await rewards().accruable(1)).last).toBe(1)
      expect((await rewards().payees({ most: 10 })).map(({ owed }) => owed)).toEqual([5n])
      const [only] = await rewards().payees({ most: 1 })
      expect(await rewards().payee({ role: 'partner', payee: 'a' })).toEqual(only)
      expect(await rewards().payee({ role: 'developer', payee: 'a' })).toBeUndefined()
      expect(await rewards().shared([second.tx])).toEqual([undefined])
    })

    it('of a payment that has one are left out, and leave no gap', async () => {
      const [one, two] = [accrualOf({ 'partner:a': 5n }), accrualOf({ 'partner:a': 7n })]
      await accrue(rewards(), one)
      await accrue(rewards(), { ...one, units: 1n }, two, { ...two, units: 2n })
      expect((await rewards().accruals(0, 10)).map(({ number, units }) => [number, units])).toEqual([
        [1, 10_000n],
        [2, 10_000n],
      ])
      expect((await rewards().payees({ most: 10 })).map(({ owed }) => owed)).toEqual([12n])
      expect(await rewards().accrue(2, [one])).toBe(true)
      expect((await rewards().accruable(1)).last).toBe(2)
    })

    const split = { role: 'split', payee: 'a', units: 1n } as const
    it.each<[string, Accrual]>([
      ['a share of nothing', accrualOf({ 'partner:a': 0n })],
      ['a negative share', accrualOf({ 'partner:a': -1n, 'developer:b': 5n }, { whole: 10n })],
      ['more than there is', accrualOf({ 'partner:a': 6n }, { whole: 5n })],
      ['two shares of a role', accrualOf({ 'partner:a': 1n, 'partner:b': 1n })],
      ['shares where nobody earns', accrualOf({ 'partner:a': 1n }, { why: 'insider' })],
      ['a transaction that is none', accrualOf({}, { tx: new Uint8Array(3) })],
      ['two equal splits', { ...accrualOf({}), whole: 2n, shares: [split, split] }],
    ])('with %s are a defect of the caller', async (_what, accrual) => {
      await expect(rewards().accrue(0, [accrual])).rejects.toThrow(RangeError)
      expect(await rewards().payees({ most: 1 })).toEqual([])
    })
  })

  describe('the spending of a payer', () => {
    it('T154: is after one moment and up to another, to the millisecond', async () => {
      const start = Math.floor(startOfTests / hour) * hour
      const times = [-5 * hour, -1, 0, 1, hour - 1, hour, hour + 1, 2 * hour, 7 * hour - 1, 7 * hour, 7 * hour + 5]
      const worth = (index: number) => 10n ** 13n + 2n ** BigInt(index)
      const paid = times.map((time, index) => accrualOf({}, { paidAt: start + time, worth: worth(index) }))
      await accrue(rewards(), ...paid)
      await accrue(rewards(), accrualOf({}, { paidAt: start + 2 * hour, why: 'insider', worth: 3n }))
      await accrue(rewards(), accrualOf({}, { paidAt: start, payer: 'payer-2', worth: 7n }))
      for (const [from, to] of times.flatMap((from) =>
        times.flatMap((to) => [[from, to] as const, [from - 1, to - 1]]),
      ))
        expect([from, to, await rewards().spent('payer-1', start + (from ?? 0), start + (to ?? 0))]).toEqual([
          from,
          to,
          times.reduce((sum, at, index) => sum + (at > (from ?? 0) && at <= (to ?? 0) ? worth(index) : 0n), 0n),
        ])
      expect(await rewards().spent('payer-2', start - 1, start)).toBe(7n)
      expect(await rewards().spent('nobody', 0, startOfTests)).toBe(0n)
    })
  })

  describe('payees', () => {
    it('are owed the sum of their shares, by role', async () => {
      await accrue(rewards(), accrualOf({ 'partner:a': most, 'developer:a': 1n }), accrualOf({ 'partner:a': most }))
      await accrue(rewards(), accrualOf({ 'partner:b': 4n, 'treasury:t': 3n }))
      const none = { reserved: 0n, paid: 0n, settledThrough: 0, why: '', parkedUntil: 0 }
      const all = [
        { role: 'developer', payee: 'a', accrued: 1n, owed: 1n, ...none },
        { role: 'partner', payee: 'a', accrued: 2n * most, owed: 2n * most, ...none },
        { role: 'partner', payee: 'b', accrued: 4n, owed: 4n, ...none },
        { role: 'treasury', payee: 't', accrued: 3n, owed: 3n, ...none },
      ]
      expect(await rewards().payees({ most: 10 })).toEqual(all)
      expect(await rewards().payees({ most: 1, after: { role: 'partner', payee: 'a' } })).toEqual([all[2]])
      expect(await rewards().payees({ most: 10, role: 'partner' })).toEqual(all.slice(1, 3))
      expect(await rewards().payees({ most: 10, role: 'partner', after: { role: 'partner', payee: 'a' } })).toEqual([
        all[2],
      ])
      expect(await rewards().sums()).toEqual([
        { role: 'developer', payees: 1, accrued: 1n, owed: 1n, reserved: 0n, paid: 0n },
        { role: 'partner', payees: 2, accrued: 2n * most + 4n, owed: 2n * most + 4n, reserved: 0n, paid: 0n },
        { role: 'treasury', payees: 1, accrued: 3n, owed: 3n, reserved: 0n, paid: 0n },
      ])
      expect(await rewards().audit()).toEqual([])
    })

    it('are owed by the rates of their payments, up to the last of them', async () => {
      const [one, two, three] = [
        accrualOf({ 'partner:partner-wallet': 10n }, { rate: 10n ** 14n }),
        accrualOf({ 'partner:partner-wallet': most }, { rate: 9n }),
        accrualOf({ 'partner:partner-wallet': 5n, 'developer:d': 1n }, { rate: 10n ** 14n }),
      ]
      await accrue(rewards(), one, two)
      await accrue(rewards(), accrualOf({ 'partner:other': 3n }), three, accrualOf({ 'partner:other': 3n }))
      expect(await rewards().owed(partner)).toEqual({
        from: 0,
        through: 4,
        units: most + 15n,
        atRates: [
          { rate: 9n, units: most },
          { rate: 10n ** 14n, units: 15n },
        ],
        tx: three.tx,
      })
      expect(await rewards().owed({ role: 'cashback', payee: 'partner-wallet' })).toBeUndefined()
    })

    it('are owed no more than is asked for, up to an accrual of theirs, and never less than the first', async () => {
      const own = [10n, 20n, most, 5n].map((units, index) =>
        accrualOf({ 'partner:partner-wallet': units }, { rate: BigInt(9 - index) }),
      )
      for (const one of own) await accrue(rewards(), one, accrualOf({ 'partner:other': 7n }))
      const upto = async (limit: bigint) => {
        const owed = (await rewards().owed(partner, limit)) ?? expect.fail()
        expect(owed.atRates.reduce((sum, { units }) => sum + units, 0n)).toBe(owed.units)
        expect(owed.tx).toEqual(own[(owed.through - 1) / 2]?.tx)
        return [owed.from, owed.through, owed.units]
      }
      for (const limit of [-1n, 0n, 9n, 10n, 29n]) expect(await upto(limit)).toEqual([0, 1, 10n])
      for (const limit of [30n, most, most + 29n]) expect(await upto(limit)).toEqual([0, 3, 30n])
      expect(await upto(most + 34n)).toEqual([0, 5, most + 30n])
      expect(await upto(most + 35n)).toEqual([0, 7, most + 35n])
      expect(await rewards().owed(partner, 10n ** 30n)).toEqual(await rewards().owed(partner))
      const { from, through: end, units } = (await rewards().owed(partner, 30n)) ?? expect.fail()
      const line = { ...partner, from, through: end, gross: units, units, opening: 0n }
      const planning = await desk.ledger.outgoing.plan(planOf({ lines: [line] }))
      expect(planning?.kind).toBe('planned')
      expect(await upto(1n)).toEqual([3, 5, most])
      expect(await upto(most + 5n)).toEqual([3, 7, most + 5n])
      expect(await rewards().owed({ role: 'cashback', payee: 'nobody' }, 5n)).toBeUndefined()
      expect(await rewards().audit()).toEqual([])
    })

    it('are due once enough is owed to them, most first', async () => {
      const owed = { a: 9n, b: 10n, c: 100n, d: most, e: 10n ** 12n }
      await accrue(
        rewards(),
        ...Object.entries(owed).map(([name, units]) => accrualOf({ [`cashback:${name}`]: units })),
      )
      await accrue(rewards(), accrualOf({ 'partner:b': 10n }))
      const due = async (least: bigint, number = 10) =>
        (await rewards().due(least, number)).map(({ role, payee }) => `${role[0]}:${payee}`)
      expect(await due(10n)).toEqual(['c:d', 'c:e', 'c:c', 'c:b', 'p:b'])
      expect([await due(0n), await due(-5n)].map((all) => all.length)).toEqual([6, 6])
      expect(await due(11n, 2)).toEqual(['c:d', 'c:e'])
      expect(await due(most + 1n)).toEqual([])
    })

    it('are not due while they are parked, nor while something is under way', async () => {
      await accrue(rewards(), accrualOf({ 'partner:partner-wallet': 10n, 'developer:developer-wallet': 5n }))
      const due = async () => (await rewards().due(1n, 10)).map(({ role }) => role)
      await rewards().park(partner, 'frozen\0', startOfTests + hour)
      await rewards().park({ role: 'treasury', payee: 'nobody' }, 'frozen', startOfTests + hour)
      expect(await due()).toEqual(['developer'])
      const [parked] = await rewards().payees({ role: 'partner', most: 1 })
      expect(parked).toMatchObject({ why: 'frozen\0', parkedUntil: startOfTests + hour })
      desk.clock.advance(hour)
      expect(await due()).toEqual(['partner', 'developer'])
      expect(await rewards().payees({ role: 'partner', most: 1 })).toMatchObject([{ why: '', parkedUntil: 0 }])
      await desk.ledger.outgoing.plan(planOf({ lines: [await lineOf(rewards(), partner)] }))
      expect(await due()).toEqual(['developer'])
      await accrue(rewards(), accrualOf({ 'partner:partner-wallet': 10n, 'developer:developer-wallet': 5n }))
      expect(await due()).toEqual(['developer'])
      expect((await rewards().owed(partner))?.units).toBe(10n)
      expect((await rewards().owed(developer))?.units).toBe(10n)
    })
  })
})
