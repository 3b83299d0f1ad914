/**
 * Whatever several streams of one payment do at once: nothing is sold twice, and nothing that was paid is lost.
 *
 * Without mishaps that is strict. A process that dies, or stands still for longer than its leases last, has sent what the
 * ledger never hears of: for each such stream that is no more than its last lease.
 */
import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Unit } from '../../src/core/payment/allowance.ts'
import { size } from '../harness/length.ts'
import type { Deed, Goods } from './stand.ts'
import { createShopFixture, deeds, mishaps } from './stand.ts'

const busy = ['open', 'open', 'open', 'send', 'send', 'send', 'advance', 'advance', 'abort'] as const
const numbers = [fc.nat(4), fc.integer({ min: 1, max: 12 }), fc.nat(23)] as const
const calm: fc.Arbitrary<Deed> = fc.tuple(fc.constantFrom(...busy, ...deeds), ...numbers)
const rough: fc.Arbitrary<Deed> = fc.tuple(fc.constantFrom(...busy, ...deeds, ...mishaps, ...mishaps), ...numbers)
const historyOf = (deed: fc.Arbitrary<Deed>) => fc.array(deed, { minLength: 4, maxLength: 40, size: 'max' })

const goods = (unit: Unit, most: number): fc.Arbitrary<Goods> =>
  fc
    .tuple(fc.integer({ min: 1, max: most }), fc.constantFrom(1, 300))
    .map(([amount, scale]) => ({ unit, amount: unit === 'byte' ? amount * scale : amount, scale }))

const numRuns = {
  file: size(250, 5_000),
  byte: size(250, 5_000),
  request: size(200, 3_000),
  second: size(200, 3_000),
  mishap: size(100, 2_000),
}

describe.each([
  ['file', 24, 'no position is sent more than three times, and what was sent less often can be had'],
  ['byte', 40, 'no more is sent than was paid, and the rest can be had'],
  ['request', 4, 'no more is delivered than was paid, and the rest can be had'],
  ['second', 3, 'nothing shortens the window, and nothing prolongs it'],
] as const)('of a %s', (unit, most, promise) => {
  it(`T113, T117: ${promise}, for any sent, aborted, repeated and parallel responses`, async () => {
    await fc.assert(
      fc.asyncProperty(goods(unit, most), historyOf(calm), async (goods, history) => {
        const stand = createShopFixture(goods)
        await stand.play(history)
        equal(stand.lost(), 0)
      }),
      { numRuns: numRuns[unit] },
    )
  })
})

describe.each([
  ['file', 24],
  ['byte', 40],
] as const)('of a %s with mishaps', (unit, most) => {
  it('T115: the same holds, except for the lease of a lost stream', async () => {
    let lost = 0
    await fc.assert(
      fc.asyncProperty(goods(unit, most), historyOf(rough), async (goods, history) => {
        const stand = createShopFixture(goods)
        await stand.play(history)
        lost += stand.lost()
      }),
      { numRuns: numRuns.mishap },
    )
    expect(lost).toBeGreaterThan(numRuns.mishap / 4)
  })
})
