/** What every store adds up: sums, endpoints, series, usage. */
import { describe, expect, it } from 'vitest'
import type { Books } from '../../src/core/ports/reports.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, startOfTests, takeOf } from './payments.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A whole hour and a whole day. */
const midnight = Math.floor(startOfTests / dayMs) * dayMs

describe.each(stores)('the books of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const { books, journal, registered } = desk

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
        {
          token: 'SOL',
          payments: 2,
          received: 10n,
          worth: 1_000_000_000_000n,
          unvalued: 0,
          refunded: 0n,
          refundedWorth: 0n,
        },
        {
          token: 'USDC',
          payments: 3,
          received: 2n * most + 3n,
          worth: 2n * 10n ** 24n - 1n,
          unvalued: 1,
          refunded: 0n,
          refundedWorth: 0n,
        },
      ])
      expect(await books().audit()).toEqual([])
    })

    it('omit late payments until they are claimed in time after all', async () => {
      const payment = createPayment({ received: 7n, worth: 7n })
      await desk.ledger.recordLate(payment)
      expect(await books().sums({})).toEqual([])
      await desk.grantOf(takeOf(payment))
      expect(await books().sums({})).toEqual([
        { token: 'USDC', payments: 1, received: 7n, worth: 7n, unvalued: 0, refunded: 0n, refundedWorth: 0n },
      ])
      await desk.ledger.recordLate(payment)
      expect(await books().sums({})).toHaveLength(1)
      expect(await books().audit()).toEqual([])
    })

    it('T62: subtract reverted payments, and add them again, in their new hour, when they land again', async () => {
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
        {
          token: 'USDC',
          payments: 1,
          received: payment.received,
          worth: 0n,
          unvalued: 1,
          refunded: 0n,
          refundedWorth: 0n,
        },
      ])
      expect((await books().endpoints({}, 10)).map(({ endpoint }) => endpoint)).toEqual(['/api/data', '/api/data'])
      expect(await books().audit()).toEqual([])
    })

    it('T241: count a payment that lands again with the amounts of the block that stayed', async () => {
      const split = { recipient: 'wallet-1', units: 5n }
      const payment = await registered({ received: 9n, worth: 9n, splits: [split] })
      await journal().conclude([{ tx: payment.tx, finality: 'reverted' }])
      const splits = [{ ...split, units: 4n }]
      const landed = { ...payment, received: 7n, worth: 7n, splits, finality: 'finalized' as const }
      await desk.ledger.take(takeOf(landed))
      expect(await books().sums({})).toMatchObject([{ payments: 1, received: 7n, worth: 7n }])
      expect(await books().findPayment(payment.tx)).toMatchObject({ units: 7n, worth: 7n, splits })
      expect(await desk.ledger.peek(payment.tx)).toMatchObject({ received: 7n })
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
      expect(await books().sums({})).toEqual([
        { token: 'USDC', payments: 1, received: 7n, worth: 7n, unvalued: 0, refunded: 0n, refundedWorth: 0n },
      ])
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

  it('series have a point for every hour or day with a payment, oldest first', async () => {
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
