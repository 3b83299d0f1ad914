import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import type { Moment, RateReading, RateState } from './rate-feed.ts'
import { computeOffer, lapse, usualRateLimits as limits, unreadRate, weigh } from './rate-feed.ts'

const one = 10n ** 12n
const start = 1_763_000_000_000
const kindAt = (state: RateState, moment: Moment) => computeOffer(state, moment, limits).kind

describe('a feed with any source', () => {
  interface Step {
    readonly waitMs: number
    readonly wallStep: number
    readonly rate: bigint
    readonly lag: number | undefined
  }
  const step: fc.Arbitrary<Step> = fc.record({
    waitMs: fc.integer({ min: 0, max: 90_000 }),
    wallStep: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -100_000, max: 100_000 })),
    rate: fc.oneof(
      { weight: 6, arbitrary: fc.bigInt({ min: 80n * one, max: 130n * one }) },
      fc.constantFrom(0n, -1n, 1n, 100_000n * one, 10n ** 30n),
    ),
    lag: fc.oneof(fc.constant(undefined), fc.integer({ min: -20_000, max: 80_000 })),
  })

  /** Plays the steps and shows each state before and after to `check`. */
  function play(
    steps: readonly Step[],
    check: (seen: { before: RateState; after: RateState; moment: Moment; step: Step }) => void,
  ): void {
    let [now, monotonic, state] = [start, 0, unreadRate]
    for (const one of steps) {
      now += one.waitMs + one.wallStep
      monotonic += one.waitMs
      const moment = { now, monotonic }
      const before = lapse(state, moment, limits)
      const reading: RateReading = { token: 'SOL', rate: one.rate, ...(one.lag !== undefined && { at: now - one.lag }) }
      state = weigh(before, reading, moment, limits)
      check({ before, after: state, moment, step: one })
    }
  }

  it('an offered rate was quoted, is plausible, and is near the previous one or was held', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        play(steps, ({ before, after: state, moment, step: { rate } }) => {
          const offer = computeOffer(state, moment, limits)
          if (offer.kind !== 'offered') return
          if (offer.rate !== before.believed?.rate) expect(offer.rate).toBe(rate)
          expect(offer.rate).toBeGreaterThan(0n)
          const last = before.believed?.rate
          if (last === undefined || before.held !== undefined) return
          const moved = offer.rate > last ? offer.rate - last : last - offer.rate
          expect(moved * 5n).toBeLessThanOrEqual(last)
        })
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('no rate is offered after its time by the monotonic clock, for any wall clock', () => {
    const later = fc.record({
      wait: fc.integer({ min: 60_001, max: 10 ** 9 }),
      wall: fc.integer({ min: -(10 ** 9), max: 10 ** 9 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), later, (steps, { wait, wall }) => {
        play(steps, ({ after: state, moment }) => {
          const then = { now: moment.now + wall, monotonic: moment.monotonic + wait }
          expect(kindAt(state, then)).not.toBe('offered')
        })
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('a token that is off for its age stays off until there is another reading', () => {
    const looks = fc.array(fc.integer({ min: -(10 ** 6), max: 10 ** 6 }), { maxLength: 20 })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 10 }), looks, (steps, walls) => {
        play(steps, ({ after: state, moment }) => {
          let wasOff = false
          let known = state
          for (const wall of walls) {
            const then = { now: moment.now + wall, monotonic: moment.monotonic }
            known = lapse(known, then, limits)
            const isOff = kindAt(known, then) !== 'offered'
            expect(wasOff && !isOff).toBe(false)
            wasOff = isOff
          }
        })
      }),
      { numRuns: size(150, 3_000) },
    )
  })

  it('a jump is held for its whole time, unless the rate returns to the start', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let since: number | undefined
        play(steps, ({ before, after: state, moment }) => {
          if (before.held === undefined) since = moment.monotonic
          if (before.held === undefined || state.held !== undefined) return
          const last = before.believed?.rate ?? 0n
          const now = state.believed?.rate ?? 0n
          const isBack = (now > last ? now - last : last - now) * 5n <= last
          expect(isBack || moment.monotonic - (since ?? 0) >= 300_000).toBe(true)
        })
      }),
      { numRuns: size(150, 3_000) },
    )
  })
})
