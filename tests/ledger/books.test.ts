/** What every store adds up and lists: sums, endpoints, series, captures, usage. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Books, Capture, CaptureQuery, Journal, PaymentRecord, Sighting } from '../../src/core/ports.ts'
import { useDesk } from './desk.ts'
import { createPayment, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A whole hour and a whole day. */
const midnight = Math.floor(startOfTests / dayMs) * dayMs

const aSighting = (changes: Partial<Sighting> = {}): Sighting => ({
  tx: new Uint8Array(randomBytes(64)),
  recipient: 'recipient-1',
  request: 'request-1',
  payer: 'payer-1',
  token: 'USDC',
  received: 10_000n,
  slot: 7,
  paidAt: startOfTests - 1000,
  endpoint: '/api/data',
  claimableUntil: startOfTests + hourMs,
  ...changes,
})

describe.each(stores)('the books of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const books = (): Books => {
    if (!desk.ledger.books) throw new Error('this ledger keeps no books')
    return desk.ledger.books
  }
  const journal = (): Journal => {
    if (!desk.ledger.journal) throw new Error('this ledger keeps no journal')
    return desk.ledger.journal
  }
  const registered = async (changes: Partial<PaymentRecord> = {}) => {
    const payment = createPayment(changes)
    await desk.grantOf(takeOf(payment))
    return payment
  }

  describe('sums', () => {
    it('count each payment once, by token, in exact numbers', async () => {
      const most = 2n ** 64n - 1n
      const payment = await registered({ received: most, worth: 10n ** 24n })
      await desk.kindOf(takeOf(payment))
      await registered({ received: most, worth: 10n ** 24n - 1n })
      await registered({ received: 3n, worth: undefined })
      await registered({ token: 'SOL', received: 5n, worth: 999_999_999_999n })
      await registered({ token: 'SOL', received: 5n, worth: 1n })
      expect(await books().sums({})).toEqual([
        { token: 'SOL', payments: 2, received: 10n, worth: 1_000_000_000_000n, unvalued: 0 },
        { token: 'USDC', payments: 3, received: 2n * most + 3n, worth: 2n * 10n ** 24n - 1n, unvalued: 1 },
      ])
      expect(await books().audit()).toEqual([])
    })

    it('leave out what came too late, until it is claimed in time after all', async () => {
      const payment = createPayment({ received: 7n, worth: 7n })
      await desk.ledger.recordLate(payment)
      expect(await books().sums({})).toEqual([])
      await desk.grantOf(takeOf(payment))
      expect(await books().sums({})).toEqual([{ token: 'USDC', payments: 1, received: 7n, worth: 7n, unvalued: 0 }])
      await desk.ledger.recordLate(payment)
      expect(await books().sums({})).toHaveLength(1)
      expect(await books().audit()).toEqual([])
    })

    it('T62: lose what the chain took back, and have it again, in its new hour, when it lands again', async () => {
      const payment = await registered({ paidAt: midnight + hourMs, worth: undefined })
      await registered({ paidAt: midnight + hourMs, token: 'SOL' })
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      expect((await books().sums({})).map(({ token }) => token)).toEqual(['SOL'])
      expect((await books().endpoints({}, 10)).map(({ token }) => token)).toEqual(['SOL'])
      const landed = {
        ...payment,
        paidAt: midnight + 2 * hourMs,
        slot: 9,
        finality: 'finalized' as const,
        endpoint: '/x',
      }
      await desk.ledger.take(takeOf(landed))
      expect(await books().sums({ from: midnight + 2 * hourMs })).toEqual([
        { token: 'USDC', payments: 1, received: payment.received, worth: 0n, unvalued: 1 },
      ])
      expect((await books().endpoints({}, 10)).map(({ endpoint }) => endpoint)).toEqual(['/api/data', '/api/data'])
      expect(await books().audit()).toEqual([])
    })

    it('T62: lose a payment once, also where its end is told twice in one breath', async () => {
      const payment = await registered({ received: 7n, worth: 7n })
      await registered({ received: 7n, worth: 7n })
      const { tx } = payment
      const told = await journal().conclude([
        { tx, finality: 'reverted' },
        { tx, finality: 'reverted' },
        { tx, finality: 'finalized' },
      ])
      expect(told).toEqual([{ tx, finality: 'reverted' }])
      expect(await books().sums({})).toEqual([{ token: 'USDC', payments: 1, received: 7n, worth: 7n, unvalued: 0 }])
      expect(await books().audit()).toEqual([])
    })

    it('are those of a period: from an hour on and before another', async () => {
      for (const paidAt of [midnight - 1, midnight, midnight + hourMs - 1, midnight + hourMs])
        await registered({ paidAt, received: BigInt(paidAt - midnight + 10) })
      const total = async (from?: number, to?: number) => {
        const period = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
        return (await books().sums(period))[0]?.received
      }
      expect(await total(midnight, midnight + hourMs)).toBe(10n + BigInt(hourMs) + 9n)
      expect(await total(undefined, midnight)).toBe(9n)
      expect(await total(midnight + hourMs)).toBe(BigInt(hourMs) + 10n)
      expect(await total(midnight, midnight)).toBeUndefined()
      await expect(books().sums({ from: midnight + 1 })).rejects.toThrow(/whole hour/)
    })
  })

  describe('endpoints', () => {
    it('are ranked by payments over all tokens, with all their lines', async () => {
      for (const endpoint of ['/b', '/b', '/c', 'GET /ä "x"\0', '/a']) await registered({ endpoint })
      await registered({ endpoint: '/c', token: 'SOL' })
      const lines = (await books().endpoints({}, 2)).map((line) => [line.endpoint, line.token, line.payments])
      expect(lines).toEqual([
        ['/b', 'USDC', 2],
        ['/c', 'SOL', 1],
        ['/c', 'USDC', 1],
      ])
      expect((await books().endpoints({}, 9)).map(({ endpoint }) => endpoint).slice(3)).toEqual(['/a', 'GET /ä "x"\0'])
      expect(await books().endpoints({}, 0)).toEqual([])
    })

    it('add up over any period as their payments do, by whole days and by hours at its edges', async () => {
      const times = Array.from({ length: 80 }, (_, index) => midnight - 40 * hourMs + index * hourMs)
      for (const [index, paidAt] of times.entries())
        await registered({ paidAt, endpoint: `/${index % 3}`, received: BigInt(index) })
      const spans = [0, 1, 15, 16, 17, 40, 41, 63, 64, 65, 79].flatMap((first, _, all) =>
        all.filter((last) => last >= first).map((last) => [times[first] as number, times[last] as number] as const),
      )
      const expected = (from: number, to: number) => {
        const own = times.flatMap((paidAt, index) => (paidAt >= from && paidAt < to ? [index] : []))
        return [0, 1, 2].map((which) => own.filter((index) => index % 3 === which).reduce((sum, one) => sum + one, 0))
      }
      const found = async (from: number, to: number) => {
        const sums = await books().endpoints({ from, to }, 3)
        return [0, 1, 2].map((which) => Number(sums.find(({ endpoint }) => endpoint === `/${which}`)?.received ?? 0))
      }
      for (const [from, to] of spans) expect([from, to, await found(from, to)]).toEqual([from, to, expected(from, to)])
      const later = await books().endpoints({ from: midnight }, 3)
      expect(later.reduce((sum, { payments }) => sum + payments, 0)).toBe(40)
      const earlier = await books().endpoints({ to: midnight - 16 * hourMs }, 3)
      expect(earlier.reduce((sum, { payments }) => sum + payments, 0)).toBe(24)
    })
  })

  it('series have a point for every hour or day in which somebody paid, oldest first', async () => {
    for (const [hours, endpoint] of [
      [25, '/a'],
      [0, '/a'],
      [1, '/b'],
      [1, '/a'],
      [-1, '/a'],
      [49, '/a'],
    ] as const)
      await registered({ paidAt: midnight + hours * hourMs + 5, endpoint, received: 2n })
    await registered({ paidAt: midnight + hourMs, token: 'SOL', received: 3n })
    const points = async (step: 'hour' | 'day', endpoint?: string) => {
      const query = { from: midnight, to: midnight + 49 * hourMs, step, ...(endpoint !== undefined && { endpoint }) }
      const series = await books().series(query)
      return series.map(({ at, token, received }) => [(at - midnight) / hourMs, token, Number(received)])
    }
    expect(await points('hour')).toEqual([
      [0, 'USDC', 2],
      [1, 'SOL', 3],
      [1, 'USDC', 4],
      [25, 'USDC', 2],
    ])
    expect(await points('hour', '/a')).toEqual([
      [0, 'USDC', 2],
      [1, 'USDC', 2],
      [25, 'USDC', 2],
    ])
    expect(await points('day')).toEqual([
      [0, 'SOL', 3],
      [0, 'USDC', 6],
      [24, 'USDC', 2],
    ])
    expect(await points('day', '/none')).toEqual([])
  })

  describe('captures', () => {
    const list = (query: Partial<CaptureQuery> = {}) => books().captures({ order: 'latest', most: 100, ...query })
    const numbers = (captures: readonly Capture[]) => captures.map(({ units }) => Number(units))

    it('show a payment as it was registered', async () => {
      const payment = await registered({ endpoint: '/a', worth: 5n })
      const { tx, request, payer, recipient, token } = payment
      const capture = {
        ...{ tx, at: payment.paidAt, request, payer, recipient, endpoint: '/a', token, units: 10_000n, worth: 5n },
        ...{ status: 'confirmed', state: 'confirmed', delivery: 'none' },
      }
      expect(await list()).toEqual([capture])
      expect(await books().capture(tx)).toEqual(capture)
      expect(await books().capture(createPayment().tx)).toBeUndefined()
    })

    it('tell what has become of it', async () => {
      const of = async ({ tx }: PaymentRecord) => {
        const { status, state, delivery } = (await books().capture(tx)) ?? {}
        return [status, state, delivery]
      }
      const payment = createPayment({ allowance: { unit: 'request', amount: 2n } })
      await desk.use(takeOf(payment), 'free')
      expect(await of(payment)).toEqual(['confirmed', 'confirmed', 'none'])
      await desk.use(takeOf(payment), 'count')
      expect(await of(payment)).toEqual(['confirmed', 'confirmed', 'some'])
      await desk.use(takeOf(payment), 'settle')
      await journal().conclude([{ tx: payment.tx, finality: 'finalized' }])
      expect(await of(payment)).toEqual(['confirmed', 'finalized', 'some'])
      await desk.use(takeOf(payment), 'settle')
      expect(await of(payment)).toEqual(['confirmed', 'finalized', 'all'])
      const window = await registered({ allowance: { unit: 'second', amount: 60n } })
      expect(await of(window)).toEqual(['confirmed', 'confirmed', 'all'])
      const file = createPayment({ allowance: { unit: 'file', amount: 9n } })
      await desk.use(takeOf(file, { amount: 5n }), 'settle', 5n)
      expect(await of(file)).toEqual(['confirmed', 'confirmed', 'some'])
      await desk.use(takeOf(file, { from: 5n, amount: 4n }), 'settle', 4n)
      expect(await of(file)).toEqual(['confirmed', 'confirmed', 'all'])
      await journal().conclude([{ tx: file.tx, finality: 'reverted' }])
      expect(await of(file)).toEqual(['expired', 'reverted', 'all'])
      const late = createPayment({ allowance: { unit: 'second', amount: 60n } })
      await desk.ledger.recordLate(late)
      expect(await of(late)).toEqual(['expired', 'late', 'none'])
      await journal().conclude([{ tx: late.tx, finality: 'reverted' }])
      expect(await of(late)).toEqual(['expired', 'reverted', 'none'])
    })

    it('list what was seen and not claimed: pending, then expired, then gone when it is claimed', async () => {
      const sighting = aSighting()
      await journal().sight([sighting, aSighting({ request: '' })])
      const { tx, request, payer, recipient, token, endpoint, received, paidAt } = sighting
      const pending = {
        ...{ tx, at: paidAt, request, payer, recipient, endpoint, token, units: received, worth: undefined },
        ...{ status: 'pending', state: 'unclaimed', delivery: 'none' },
      }
      expect(await list()).toEqual([pending])
      expect(await books().capture(tx)).toEqual(pending)
      desk.clock.advance(hourMs)
      expect(await list({ status: 'pending' })).toHaveLength(1)
      desk.clock.advance(1)
      expect(await list({ status: 'pending' })).toEqual([])
      expect(await list({ status: 'expired' })).toEqual([{ ...pending, status: 'expired' }])
      const late = createPayment({ tx })
      await desk.ledger.recordLate(late)
      expect((await list()).map(({ state }) => state)).toEqual(['late'])
      await desk.grantOf(takeOf(late))
      expect((await list()).map(({ state }) => state)).toEqual(['confirmed'])
      await journal().sight([sighting])
      expect((await list()).map(({ state }) => state)).toEqual(['confirmed'])
    })

    it('never list as unclaimed what was seen after it was registered', async () => {
      const [payment, late] = [await registered(), createPayment()]
      await desk.ledger.recordLate(late)
      await journal().sight([aSighting({ tx: payment.tx }), aSighting({ tx: late.tx })])
      expect((await list()).map(({ state }) => state).toSorted()).toEqual(['confirmed', 'late'])
      expect((await journal().unclaimed(10)).map(({ tx }) => tx)).toEqual([late.tx])
    })

    it('are filtered by time, endpoint, token and status, in both orders', async () => {
      for (let number = 0; number < 12; number += 1) {
        const facts = {
          received: BigInt(number),
          paidAt: midnight + number * 1000,
          endpoint: number % 2 === 0 ? '/even' : '/odd',
          token: number % 3 === 0 ? ('SOL' as const) : ('USDC' as const),
        }
        if (number % 4 === 3)
          await journal().sight([aSighting({ ...facts, claimableUntil: startOfTests + number - 5 })])
        else if (number % 4 === 2) await desk.ledger.recordLate(createPayment(facts))
        else await registered(facts)
      }
      const asked = async (query: Partial<CaptureQuery>) => numbers(await list(query))
      expect(await asked({})).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
      expect(await asked({ order: 'oldest', most: 3 })).toEqual([0, 1, 2])
      expect(await asked({ from: midnight + 4000, to: midnight + 8000 })).toEqual([7, 6, 5, 4])
      expect(await asked({ endpoint: '/odd' })).toEqual([11, 9, 7, 5, 3, 1])
      expect(await asked({ token: 'SOL' })).toEqual([9, 6, 3, 0])
      expect(await asked({ endpoint: '/odd', token: 'SOL', order: 'oldest' })).toEqual([3, 9])
      expect(await asked({ status: 'confirmed' })).toEqual([9, 8, 5, 4, 1, 0])
      expect(await asked({ status: 'expired' })).toEqual([10, 6, 3, 2])
      expect(await asked({ status: 'pending' })).toEqual([11, 7])
      expect(await asked({ status: 'pending', token: 'USDC', endpoint: '/odd', most: 1 })).toEqual([11])
      expect(await asked({ status: 'expired', endpoint: '/even', from: midnight + 3000, order: 'oldest' })).toEqual([
        6, 10,
      ])
      expect(await asked({ most: 0 })).toEqual([])
    })

    it('are read page by page, without a gap and without a double, however many have one time', async () => {
      const all: PaymentRecord[] = []
      for (let number = 0; number < 11; number += 1) {
        const paidAt = midnight + Math.floor(number / 5)
        if (number % 3 === 0) await journal().sight([aSighting({ paidAt, received: BigInt(number) })])
        else all.push(await registered({ paidAt, received: BigInt(number) }))
      }
      for (const order of ['latest', 'oldest'] as const) {
        const found: Capture[] = []
        for (let page = await list({ order, most: 2 }); page.length > 0; ) {
          found.push(...page)
          const after = page.at(-1)
          page = await list({ order, most: 2, ...(after && { after }) })
        }
        expect(found).toEqual(await list({ order }))
        expect(numbers(found).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      }
    })
  })

  describe('what only a proof has named', () => {
    it('is pending, and not unclaimed, until a node shows it', async () => {
      const named = aSighting({ slot: 0, payer: '', paidAt: startOfTests })
      expect(await journal().sight([named])).toEqual([named])
      expect(await journal().sight([named])).toEqual([])
      expect(await journal().unclaimed(10)).toEqual([])
      const seen = { ...named, slot: 5, payer: 'payer-2', paidAt: startOfTests - 7 }
      expect(await journal().sight([seen])).toEqual([seen])
      expect(await journal().sight([seen, named])).toEqual([])
      expect(await journal().unclaimed(10)).toEqual([seen])
      expect(await books().capture(named.tx)).toMatchObject({
        status: 'pending',
        payer: 'payer-2',
        at: startOfTests - 7,
      })
    })

    it('is kept a thousand times at the most, and the oldest go', async () => {
      const many = Array.from({ length: 1003 }, (_, number) => aSighting({ slot: 0, paidAt: startOfTests + number }))
      const seen = aSighting({ paidAt: startOfTests - 5 })
      await journal().sight([seen, ...many.slice(500)])
      await journal().sight(many.slice(0, 500))
      const kept = await books().captures({ order: 'oldest', most: 2000 })
      expect(kept).toHaveLength(1001)
      expect(kept.slice(0, 2).map(({ at }) => at - startOfTests)).toEqual([-5, 3])
    })
  })

  it('usage is added up by endpoint and event', async () => {
    const at = midnight
    const one = { at, endpoint: '/ä\0', event: 'free', count: 2 } as const
    await books().count([one, { ...one, event: 'refused', count: 1 }, { ...one, at: at + hourMs, count: 5 }, one])
    await books().count([{ ...one, count: 3 }])
    await books().count([])
    const usage = async (period: Parameters<Books['usage']>[0]) =>
      (await books().usage(period)).toSorted((left, right) => (left.event < right.event ? -1 : 1))
    expect(await usage({})).toEqual([
      { ...one, at: 0, count: 12 },
      { ...one, at: 0, event: 'refused', count: 1 },
    ])
    expect(await usage({ from: at + hourMs })).toEqual([{ ...one, at: 0, count: 5 }])
    expect(await usage({ to: at })).toEqual([])
  })
})
