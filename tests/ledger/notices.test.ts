/** What somebody outside is to be told: written with what it tells of, once, and given to one teller at a time. */
import { describe, expect, it } from 'vitest'
import type { Sighting } from '../../src/core/ports/journal.ts'
import type { Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import type { LedgerEvents } from '../../src/core/ports/outbox.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, createSighting, startOfTests, takeOf } from './payments.ts'
import { places } from './places.ts'
import { stores } from './stores.ts'

const minute = 60_000
/** So long after its end a payment is told of. */
const settlingMs = 10_000

const aSighting = (changes: Partial<Sighting> = {}) =>
  createSighting({ claimableUntil: startOfTests + minute, ...changes })

function noticesOf({ events: notices }: Ledger): LedgerEvents {
  if (!notices) throw new Error('this ledger writes no notices')
  return notices
}

describe.each(stores)('notices of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { registered } = desk
  const notices = () => noticesOf(desk.ledger)
  const all = async () => (await notices().list({ most: 1000 })).toReversed()
  const kinds = async ({ tx }: { readonly tx: Uint8Array }) =>
    (await all()).filter((notice) => Buffer.compare(notice.tx, tx) === 0).map(({ kind }) => kind)
  const conclude = (payment: PaymentRecord, finality: 'finalized' | 'reverted') =>
    desk.ledger.journal.conclude([{ tx: payment.tx, finality }])

  it('are not written without a receiver', async () => {
    const payment = await registered()
    await conclude(payment, 'finalized')
    await desk.ledger.recordLate(createPayment())
    await desk.ledger.journal.sight([aSighting()])
    desk.clock.advance(minute + settlingMs + 1)
    expect(await notices().sweep(100)).toBe(0)
    await notices().start()
    expect(await notices().sweep(100)).toBe(0)
    expect(await all()).toEqual([])
  })

  describe('with a receiver', () => {
    it('report a registered payment, and its conclusion on chain', async () => {
      await notices().start()
      await notices().start()
      const [kept, lost] = [await registered(), await registered()]
      await desk.kindOf(takeOf(kept))
      desk.clock.advance(1)
      await conclude(kept, 'finalized')
      await conclude(kept, 'finalized')
      await conclude(lost, 'reverted')
      expect(await kinds(kept)).toEqual(['payment.confirmed', 'payment.finalized'])
      desk.clock.advance(1)
      await desk.ledger.take(takeOf({ ...lost, finality: 'finalized' }))
      expect(await kinds(lost)).toEqual(['payment.confirmed', 'payment.reverted', 'payment.finalized'])
      const [first] = await all()
      expect(first).toMatchObject({ at: startOfTests, attempts: 0, state: 'waiting', why: '' })
      expect(first?.id).toMatch(/^msg_[0-9a-f]{32}$/)
    })

    it('report both events of a payment that is final from the start, because no conclusion follows', async () => {
      await notices().start()
      const payment = await registered({ finality: 'finalized' })
      expect((await kinds(payment)).toSorted()).toEqual(['payment.confirmed', 'payment.finalized'])
    })

    it('tell of one that came too late, once, also when it was seen before', async () => {
      await notices().start()
      const late = createPayment()
      await desk.ledger.journal.sight([aSighting({ tx: late.tx })])
      await desk.ledger.recordLate(late)
      await desk.ledger.recordLate(late)
      desk.clock.advance(minute + settlingMs + 1)
      expect(await notices().sweep(100)).toBe(0)
      expect(await kinds(late)).toEqual(['payment.expired'])
      desk.clock.advance(1)
      await desk.grantOf(takeOf(late))
      expect(await kinds(late)).toEqual(['payment.expired', 'payment.confirmed'])
    })

    it('tell of one that was seen and never claimed, once, when its time is over', async () => {
      await notices().start()
      const [seen, claimed, foreign, named] = [
        aSighting(),
        aSighting(),
        aSighting({ request: '', claimableUntil: 0 }),
        aSighting({ slot: 0 }),
      ]
      await desk.ledger.journal.sight([seen, claimed, foreign, named])
      await registered({ tx: claimed.tx })
      desk.clock.advance(minute + settlingMs)
      expect(await notices().sweep(100)).toBe(0)
      desk.clock.advance(1)
      expect(await notices().sweep(100)).toBe(1)
      expect(await notices().sweep(100)).toBe(0)
      expect(await kinds(seen)).toEqual(['payment.expired'])
      expect(await kinds(claimed)).toEqual(['payment.confirmed'])
      expect([...(await kinds(foreign)), ...(await kinds(named))]).toEqual([])
      // Now a node has shown it, when it is too late already.
      await desk.ledger.journal.sight([{ ...named, slot: 9 }])
      expect(await notices().sweep(100)).toBe(1)
      expect(await kinds(named)).toEqual(['payment.expired'])
    })

    it('tell of one that ran out with nothing delivered, once', async () => {
      await notices().start()
      const usableUntil = startOfTests + minute
      const given = async (
        changes: Partial<PaymentRecord>,
        outcome: 'delivered' | 'partial' | 'no_body' | 'not_started',
      ) => {
        const payment = createPayment({ usableUntil, ...changes })
        await desk.use(takeOf(payment), outcome)
        return payment
      }
      const nothing = [await given({}, 'not_started'), await given({}, 'no_body')]
      const file = { allowance: { unit: 'file', amount: 5n } } as const
      const something = [
        await given({}, 'delivered'),
        await given({}, 'partial'),
        await given(file, 'partial'),
        await given({ allowance: { unit: 'second', amount: 5n } }, 'not_started'),
        await given({ usableUntil: startOfTests + 2 * minute }, 'not_started'),
      ]
      const reverted = await given({}, 'not_started')
      await conclude(reverted, 'reverted')
      desk.clock.advance(minute + settlingMs - 1)
      expect(await notices().sweep(100)).toBe(0)
      desk.clock.advance(1)
      expect(await notices().sweep(100)).toBe(2)
      expect(await notices().sweep(100)).toBe(0)
      for (const payment of nothing) expect((await kinds(payment)).at(-1)).toBe('payment.undelivered')
      for (const payment of something) expect(await kinds(payment)).toEqual(['payment.confirmed'])
      desk.clock.advance(minute)
      expect(await notices().sweep(100)).toBe(1)
    })

    it('wait for a response that is still under way, and for those that ran out after it', async () => {
      await notices().start()
      const usableUntil = startOfTests + minute
      const held = createPayment({ usableUntil })
      const grant = await desk.grantOf(takeOf(held, { leaseMs: 10 * minute }))
      await desk.use(takeOf(createPayment({ usableUntil: usableUntil - 1 })), 'not_started')
      await desk.use(takeOf(createPayment({ usableUntil: usableUntil + 1 })), 'not_started')
      desk.clock.advance(2 * minute)
      expect(await notices().sweep(100)).toBe(1)
      expect(await notices().sweep(100)).toBe(0)
      await desk.ledger.end(grant, 'not_started', 0n)
      expect(await notices().sweep(100)).toBe(2)
      expect(await kinds(held)).toEqual(['payment.confirmed', 'payment.undelivered'])
      // But not for ever.
      const endless = createPayment({ usableUntil: usableUntil + 5 * minute })
      await desk.grantOf(takeOf(endless, { leaseMs: 1000 * minute }))
      await desk.use(takeOf(createPayment({ usableUntil: usableUntil + 6 * minute })), 'not_started')
      desk.clock.advance(65 * minute)
      expect(await notices().sweep(100)).toBe(1)
      expect(await kinds(endless)).toEqual(['payment.confirmed'])
    })

    it('are written a few at a time, if so asked, and all in the end', async () => {
      await notices().start()
      for (let number = 0; number < 7; number += 1) {
        await desk.ledger.journal.sight([aSighting({ claimableUntil: startOfTests + number })])
        const usableUntil = startOfTests + Math.floor(number / 2)
        await desk.use(takeOf(createPayment({ usableUntil })), 'not_started')
      }
      desk.clock.advance(minute)
      const counts: number[] = []
      for (let count = await notices().sweep(3); count > 0; count = await notices().sweep(3)) counts.push(count)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(14)
      expect(Math.max(...counts)).toBeLessThanOrEqual(4)
      expect(await notices().sweep(0)).toBe(0)
    })
  })

  describe('are spread over the receivers', () => {
    const [shop, desk2] = [
      { name: 'shop', events: ['payment.confirmed', 'payment.finalized'] },
      { name: 'desk_2', events: ['payment.finalized'] },
    ] as const

    it('so that each receiver has its own messages of the selected events, delivered independently', async () => {
      await notices().start()
      const payment = await registered({ finality: 'finalized' })
      expect(await notices().take('shop', 10, 1000)).toEqual([])
      expect(await notices().spread([shop, desk2], 10)).toBe(2)
      expect(await notices().spread([shop, desk2], 10)).toBe(0)
      expect(await notices().take('', 10, 1000)).toEqual([])
      const own = await notices().take('shop', 10, 1000)
      expect(own.map(({ kind }) => kind).toSorted()).toEqual(['payment.confirmed', 'payment.finalized'])
      const [theirs, ...more] = await notices().take('desk_2', 10, 1000)
      expect([theirs?.kind, theirs?.target, more]).toEqual(['payment.finalized', 'desk_2', []])
      expect(theirs).toMatchObject({ at: startOfTests, attempts: 0, state: 'waiting', tx: payment.tx })
      expect(theirs?.id).toMatch(/^msg_[0-9a-f]{32}_desk_2$/)
      await notices().failed(theirs?.id ?? '', 'it said 500', startOfTests + 10_000)
      for (const { id } of own) await notices().told(id)
      const states = (await all()).map(({ target, state }) => `${target} ${state}`)
      expect(states.toSorted()).toEqual(['desk_2 waiting', 'shop told', 'shop told'])
    })

    it('a few at a time, the oldest first, each once though many do it', async () => {
      await notices().start()
      const payments: PaymentRecord[] = []
      for (let number = 0; number < 12; number += 1) {
        desk.clock.advance(1)
        payments.push(await registered())
      }
      expect(await notices().spread([shop], 2)).toBe(2)
      const [first, second] = await notices().take('shop', 10, 1000)
      expect([first?.tx, second?.tx]).toEqual([payments[0]?.tx, payments[1]?.tx])
      const spread = await Promise.all([1, 2, 3, 4].map(() => notices().spread([shop], 3)))
      let sum = spread.reduce((total, count) => total + count, 0)
      while (sum < 10) sum += await notices().spread([shop], 3)
      expect(await notices().spread([shop], 3)).toBe(0)
      expect(await notices().take('shop', 100, 1000)).toHaveLength(10)
    })

    it('and are dropped without an interested receiver', async () => {
      await notices().start()
      await registered()
      expect(await notices().spread([desk2], 10)).toBe(1)
      await registered()
      expect(await notices().spread([], 10)).toBe(1)
      expect(await all()).toEqual([])
    })
  })

  describe('are given out', () => {
    it('to one of many parallel takers, and to another one when the lease is over', async () => {
      await notices().start()
      for (let number = 0; number < 10; number += 1) await registered()
      const taken = await Promise.all([1, 2, 3, 4].map(() => notices().take('', 4, 1000)))
      const ids = taken.flat().map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      const rest = await notices().take('', 100, 1000)
      expect(ids.length + rest.length).toBe(10)
      expect(await notices().take('', 100, 1000)).toEqual([])
      desk.clock.advance(1000)
      expect(await notices().take('', 100, 1000)).toHaveLength(10)
      expect(await notices().take('', 0, 1000)).toEqual([])
    })

    it('T203: and stay told, if the attempt of a server that stood still failed meanwhile', async () => {
      await notices().start()
      await registered()
      const [late] = await notices().take('', 1, 1000)
      desk.clock.advance(1000)
      const [notice] = await notices().take('', 1, 1000)
      expect(notice?.id).toBe(late?.id)
      await notices().told(notice?.id ?? '')
      for (const again of [desk.clock.now(), undefined]) {
        await notices().failed(late?.id ?? '', 'it timed out', again)
        expect(await notices().list({ most: 10 })).toMatchObject([{ state: 'told', why: '', attempts: 1 }])
      }
      expect(await notices().take('', 10, 1000)).toEqual([])
    })

    it('until they are told, or given up', async () => {
      await notices().start()
      const [told, failed, again] = [await registered(), await registered(), await registered()]
      const idOf = async ({ tx }: PaymentRecord) =>
        (await all()).find((notice) => Buffer.compare(notice.tx, tx) === 0)?.id ?? ''
      await notices().take('', 10, 1000)
      await notices().told(await idOf(told))
      await notices().failed(await idOf(failed), 'it said 410\0', undefined)
      await notices().failed(await idOf(again), 'it said 503', startOfTests + 5000)
      desk.clock.advance(4999)
      expect(await notices().take('', 10, 1000)).toEqual([])
      desk.clock.advance(1)
      const [next, ...others] = await notices().take('', 10, 1000)
      expect([next?.id, others]).toEqual([await idOf(again), []])
      expect(next).toMatchObject({ attempts: 1, why: 'it said 503', state: 'waiting', kind: 'payment.confirmed' })
      expect(next?.tx).toEqual(again.tx)
      expect(await notices().list({ state: 'failed', most: 10 })).toMatchObject([
        { id: await idOf(failed), attempts: 1, why: 'it said 410\0', state: 'failed' },
      ])
      expect(await notices().list({ state: 'told', most: 10 })).toMatchObject([{ id: await idOf(told), attempts: 1 }])
      expect(await notices().list({ state: 'told', most: 0 })).toEqual([])
      const id = await idOf(told)
      expect((await notices().list({ id, most: 9 })).map((one) => one.id)).toEqual([id])
      expect(await notices().list({ id, state: 'failed', most: 9 })).toEqual([])

      expect(await notices().resend(await idOf(told))).toBe(true)
      expect(await notices().resend(await idOf(failed))).toBe(true)
      expect(await notices().resend('msg_none')).toBe(false)
      const resent = await notices().take('', 10, 1000)
      expect(resent.map(({ attempts, state }) => [attempts, state])).toEqual([
        [0, 'waiting'],
        [0, 'waiting'],
      ])
      await notices().told('msg_none')
      await notices().failed('msg_none', '', undefined)
    })

    it('and forgotten when they are a month old, those that were told', async () => {
      await notices().start()
      await registered()
      await registered()
      const [one] = await notices().take('', 1, 1)
      await notices().told(one?.id ?? '')
      desk.clock.advance(30 * 24 * 60 * minute + 1)
      await registered({ usableUntil: desk.clock.now() + minute })
      const newest = (await notices().list({ most: 1 }))[0]
      await notices().told(newest?.id ?? '')
      expect((await all()).map(({ state }) => state).toSorted()).toEqual(['told', 'waiting'])
    })
  })
})

describe.each(places)('several servers on one %s ledger', (_name, make) => {
  it('all write notices once one of them listens, and none twice', async () => {
    const place = await make()
    const [one, other, third] = [await place.open(), await place.open(), await place.open()]
    await noticesOf(one).start()
    const usableUntil = startOfTests + minute
    const ran = Array.from({ length: 8 }, () => createPayment({ usableUntil }))
    for (const payment of ran) await other.take(takeOf(payment, { leaseMs: 1 }))
    await third.journal.sight([aSighting(), aSighting()])
    place.clock.advance(2 * minute)
    const counts = await Promise.all([one, other, third].map((ledger) => noticesOf(ledger).sweep(100)))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10)
    const taken = await Promise.all([one, other, third].map((ledger) => noticesOf(ledger).take('', 100, minute)))
    const kinds = taken.flat().map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'payment.confirmed')).toHaveLength(8)
    expect(kinds.filter((kind) => kind === 'payment.undelivered')).toHaveLength(8)
    expect(kinds.filter((kind) => kind === 'payment.expired')).toHaveLength(2)
    expect(new Set(taken.flat().map(({ id }) => id)).size).toBe(18)
  })
})
