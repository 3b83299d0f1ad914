import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endpointRanges, seriesRanges, sumRange } from './periods.ts'
import type { Booked } from './totals.ts'
import { added, changesBetween, dayMs, gathered, hourMs, listLines, nameLine, negated, noCounts } from './totals.ts'

const day = 20_000 * dayMs
const paid: Booked = {
  paidAt: day + 5 * hourMs + 1,
  endpoint: '/a',
  payer: 'payer-1',
  token: 'SOL',
  received: 7n,
  worth: 9n,
  late: false,
  finality: 'confirmed',
}
const counts = { payments: 1, received: 7n, worth: 9n, unvalued: 0, refunded: 0n, refundedWorth: 0n }

describe('the changes of the books for a payment', () => {
  it('is one of each line it belongs to', () => {
    expect(listLines(changesBetween(undefined, paid))).toEqual([
      { grain: 'all', at: 0, endpoint: '', token: 'SOL', ...counts },
      { grain: 'day_endpoint', at: day, endpoint: '/a', token: 'SOL', ...counts },
      { grain: 'day_payer', at: day, endpoint: 'payer-1', token: 'SOL', ...counts },
      { grain: 'endpoint', at: 0, endpoint: '/a', token: 'SOL', ...counts },
      { grain: 'hour', at: day + 5 * hourMs, endpoint: '', token: 'SOL', ...counts },
      { grain: 'hour_endpoint', at: day + 5 * hourMs, endpoint: '/a', token: 'SOL', ...counts },
    ])
    const [line] = listLines(changesBetween(undefined, { ...paid, worth: undefined }))
    expect(line).toMatchObject({ worth: 0n, unvalued: 1 })
  })

  it.each<[string, Partial<Booked> | undefined, Partial<Booked> | undefined, number]>([
    ['nothing when it came too late', undefined, { late: true }, 0],
    ['nothing when it is final at last', {}, { finality: 'finalized' }, 0],
    ['nothing when it was taken back and comes too late', { finality: 'reverted' }, { late: true }, 0],
    ['all of it when it is claimed after all', { late: true }, {}, 1],
    ['all of it when it lands again', { finality: 'reverted' }, { finality: 'finalized' }, 1],
    ['all of it, away, when the chain took it back', {}, { finality: 'reverted' }, -1],
    ['all of it, away, when it is gone', {}, undefined, -1],
  ])('is %s', (_what, before, after, payments) => {
    const changes = changesBetween(before && { ...paid, ...before }, after && { ...paid, ...after })
    expect(new Set(listLines(changes).map((line) => line.payments))).toEqual(new Set(payments === 0 ? [] : [payments]))
  })

  it('moves from one hour to the other, and stays in lines that have both', () => {
    const lines = listLines(changesBetween(paid, { ...paid, paidAt: paid.paidAt + hourMs }))
    expect(lines.map(({ grain, at, payments }) => [grain, (at - day) / hourMs, payments])).toEqual([
      ['hour', 5, -1],
      ['hour', 6, 1],
      ['hour_endpoint', 5, -1],
      ['hour_endpoint', 6, 1],
    ])
  })

  it('adds up the same, however it is gathered', () => {
    const booked = fc.record({
      paidAt: fc.integer({ min: -3 * dayMs, max: 3 * dayMs }),
      endpoint: fc.constantFrom('/a', '/a b', ''),
      payer: fc.constantFrom('payer-1', 'payer-2'),
      token: fc.constantFrom('SOL' as const, 'USDC' as const),
      received: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      worth: fc.option(fc.bigInt({ min: 0n, max: 10n ** 24n }), { nil: undefined }),
      late: fc.boolean(),
      finality: fc.constantFrom('confirmed' as const, 'reverted' as const),
    })
    const story = fc.array(fc.tuple(fc.option(booked, { nil: undefined }), fc.option(booked, { nil: undefined })))
    fc.assert(
      fc.property(story, (steps) => {
        const changes = steps.flatMap(([before, after]) => changesBetween(before, after))
        const names = listLines(changes).map(nameLine)
        expect(names).toEqual([...names].sort())
        expect(listLines(gathered(changes))).toEqual(listLines(changes))
        const back = changes.map(({ keys, counts }) => ({ keys, counts: negated(counts) }))
        expect(listLines([...changes, ...back])).toEqual([])
        expect(added(noCounts, noCounts)).toEqual(noCounts)
      }),
    )
  })
})

describe('the lines that a period reads', () => {
  it('is one line a token for all time', () => {
    expect(sumRange({})).toEqual(['all', 0, 1, 1])
    expect(endpointRanges({})[0]).toEqual(['endpoint', 0, 1, 1])
  })

  it('is whole days and the fewest hours around them, without a gap and without a double', () => {
    const hours = fc.integer({ min: -100, max: 100 })
    fc.assert(
      fc.property(hours, hours, (one, other) => {
        const [from, to] = [Math.min(one, other) * hourMs, Math.max(one, other) * hourMs]
        const counts = new Map<number, number>()
        let lines = 0
        for (const [grain, start, end, sign] of endpointRanges({ from, to })) {
          const span = grain === 'day_endpoint' ? dayMs : hourMs
          lines += (end - start) / span
          expect(Math.abs(start % span) + Math.abs(end % span)).toBe(0)
          for (let hour = start / hourMs; hour < end / hourMs; hour += 1)
            counts.set(hour, (counts.get(hour) ?? 0) + sign)
        }
        const read = [...counts].filter(([, count]) => count !== 0).toSorted(([left], [right]) => left - right)
        const wanted = Array.from({ length: (to - from) / hourMs }, (_, index) => [from / hourMs + index, 1])
        expect(read).toEqual(wanted)
        expect(lines).toBeLessThanOrEqual(24 + 200 / 24)
      }),
    )
  })

  it('is by the hour for a series, but by the day for days of one endpoint', () => {
    const period = { from: day, to: day + 2 * dayMs }
    expect(seriesRanges(period, 'day', false)).toEqual([['hour', period.from, period.to, 1]])
    expect(seriesRanges(period, 'hour', true)).toEqual([['hour_endpoint', period.from, period.to, 1]])
    expect(seriesRanges(period, 'day', true)[0]).toEqual(['day_endpoint', period.from, period.to, 1])
  })
})
