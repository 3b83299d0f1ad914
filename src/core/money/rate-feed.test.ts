import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Moment, RateReading, RateState } from './rate-feed.ts'
import { computeOffer, formatRate, lapse, millionths, unreadRate, usualRateLimits, weigh } from './rate-feed.ts'
import { parseRate } from './rates.ts'

const one = 10n ** 12n
const start = 1_763_000_000_000
const limits = usualRateLimits

/** Both clocks, so many milliseconds after the start. */
const after = (ms: number, wallStep = 0): Moment => ({ now: start + ms + wallStep, monotonic: 5_000 + ms })
const sol = (rate: bigint | string, at?: number): RateReading => ({
  token: 'SOL',
  rate,
  ...(at !== undefined && { at: start + at }),
})
/** Readings that were asked for when they were made. */
const told = (...readings: readonly (readonly [ms: number, rate: bigint])[]): RateState =>
  readings.reduce((state, [ms, rate]) => weigh(state, sol(rate, ms), after(ms), limits), unreadRate)
const kindAt = (state: RateState, moment: Moment) => computeOffer(state, moment, limits).kind

describe('a reading', () => {
  it('is believed when it is the first', () => {
    expect(computeOffer(told([0, 150n * one]), after(0), limits)).toEqual({ kind: 'offered', rate: 150n * one })
  })

  it('may be decimal text', () => {
    const state = weigh(unreadRate, sol('150.25'), after(0), limits)
    expect(computeOffer(state, after(0), limits)).toEqual({ kind: 'offered', rate: 150_250_000_000_000n })
  })

  it.each<readonly [string, bigint | string]>([
    ['zero', 0n],
    ['below zero', -150n * one],
    ['too small for twelve decimals', 999n],
    ['more than a billion', 10n ** 21n + 1n],
    ['no number', 'NaN'],
    ['text with an exponent', '1e2'],
    ['empty', ''],
    ['text of zero', '0'],
  ])('does not count when its rate is %s', (_name, rate) => {
    const before = told([0, 150n * one])
    expect(weigh(before, sol(rate, 1_000), after(1_000), limits)).toEqual({
      ...before,
      remark: 'the source returned an impossible rate',
    })
    const alone = weigh(unreadRate, sol(rate, 1_000), after(1_000), limits)
    expect(kindAt(alone, after(1_000))).toBe('refused')
  })

  it.each<readonly [string, number, string]>([
    ['too old already', -60_001, 'the source returned a rate that is 61 s old'],
    ['of the future', 15_001, 'the source returned a rate from the future; one of the two clocks is wrong'],
    ['not a time', Number.NaN, 'the source returned a rate without a time'],
    ['endless', Number.POSITIVE_INFINITY, 'the source returned a rate without a time'],
  ])('does not count when its time is %s', (_name, at, why) => {
    expect(computeOffer(weigh(unreadRate, sol(one, at), after(0), limits), after(0), limits)).toEqual({
      kind: 'refused',
      why,
    })
  })

  it('may come from a clock that is a little ahead, and is then as old as the question', () => {
    const state = weigh(unreadRate, sol(one, 15_000), after(0), limits)
    expect(kindAt(state, after(60_000))).toBe('offered')
    expect(kindAt(state, after(60_001))).toBe('stale')
  })
})

describe('age', () => {
  it('counts from when the rate was made, not from when it was read', () => {
    const state = weigh(unreadRate, sol(one, 0), after(30_000), limits)
    expect(kindAt(state, after(60_000))).toBe('offered')
    expect(computeOffer(state, after(60_001), limits)).toEqual({
      kind: 'stale',
      why: 'its last rate is older than 60 s',
    })
  })

  it('counts from the question where the source gives no time', () => {
    const state = weigh(unreadRate, sol(one), after(0), limits)
    expect(kindAt(state, after(60_000))).toBe('offered')
    expect(kindAt(state, after(60_001))).toBe('stale')
  })

  it('goes on when the clock is set back', () => {
    expect(kindAt(told([0, one]), after(60_001, -3_600_000))).toBe('stale')
  })

  it('goes on while the machine sleeps and only the wall clock runs', () => {
    expect(kindAt(told([0, one]), { now: start + 60_001, monotonic: 5_000 })).toBe('stale')
  })

  it('is not taken back: a rate that was too old once stays so', () => {
    const woken = lapse(told([0, one]), { now: start + 60_001, monotonic: 5_000 }, limits)
    expect(kindAt(woken, { now: start, monotonic: 5_001 })).toBe('stale')
    expect(lapse(woken, after(0), limits)).toBe(woken)
  })

  it('does not begin anew with the same reading, even when the clock was set back', () => {
    const again = weigh(told([0, one]), sol(one, 0), after(50_000, -50_000), limits)
    expect(kindAt(again, after(60_001, -50_000))).toBe('stale')
    const older = weigh(told([0, one]), sol(one, -1), after(50_000, -50_000), limits)
    expect(kindAt(older, after(60_001, -50_000))).toBe('stale')
  })

  it('names the tokens that the latest reading lacked', () => {
    const state = weigh(told([0, one]), sol(0n, 50_000), after(50_000), limits)
    expect(computeOffer(state, after(61_000), limits)).toEqual({
      kind: 'stale',
      why: 'its last rate is older than 60 s: the source returned an impossible rate',
    })
  })
})

describe('a jump', () => {
  it.each([
    ['up', 121n],
    ['down', 79n],
  ])('%s switches the token off at once', (_name, rate) => {
    const state = told([0, 100n * one], [10_000, rate * one])
    expect(computeOffer(state, after(10_000), limits)).toEqual({
      kind: 'jumped',
      why: `its rate jumped from 100 to ${rate} USDC and must stay there for 300 s`,
    })
  })

  it.each([120n, 80n])('is more than the limit: from 100 to %s is none', (rate) => {
    expect(kindAt(told([0, 100n * one], [10_000, rate * one]), after(10_000))).toBe('offered')
  })

  const steady = (from: number, to: number, rate: bigint) =>
    Array.from({ length: (to - from) / 10_000 + 1 }, (_, index) => [from + index * 10_000, rate] as const)

  it('is believed when the rate has stayed there for long enough', () => {
    const early = told([0, 100n * one], ...steady(10_000, 300_000, 200n * one))
    expect(kindAt(early, after(300_000))).toBe('jumped')
    const state = told([0, 100n * one], ...steady(10_000, 310_000, 200n * one))
    expect(computeOffer(state, after(310_000), limits)).toEqual({ kind: 'offered', rate: 200n * one })
  })

  it('begins anew when the rate jumps once more', () => {
    const twice = [...steady(10_000, 200_000, 200n * one), ...steady(210_000, 500_000, 300n * one)]
    expect(kindAt(told([0, 100n * one], ...twice), after(500_000))).toBe('jumped')
    expect(kindAt(told([0, 100n * one], ...twice, [510_000, 300n * one]), after(510_000))).toBe('offered')
  })

  it('is measured from the held rate, so that small steps cannot avoid the limit', () => {
    const creeping = [200n, 230n, 250n].map((rate, index) => [10_000 + index * 10_000, rate * one] as const)
    expect(told([0, 100n * one], ...creeping).held).toMatchObject({ level: 250n * one, since: after(30_000).monotonic })
  })

  it('is not proven by silence', () => {
    const state = told([0, 100n * one], [10_000, 200n * one], [400_000, 200n * one])
    expect(kindAt(state, after(400_000))).toBe('jumped')
  })

  it('is not proven by the same reading over and over, with a clock that is set back', () => {
    let state = told([0, 100n * one], [10_000, 200n * one])
    for (let ms = 20_000; ms <= 400_000; ms += 10_000) {
      state = weigh(state, sol(200n * one, 10_000), after(ms, 10_000 - ms), limits)
      expect(kindAt(state, after(ms))).toBe('jumped')
    }
  })

  it('is over when the rate comes back', () => {
    const state = told([0, 100n * one], [10_000, 100_000n * one], [20_000, 101n * one])
    expect(computeOffer(state, after(20_000), limits)).toEqual({ kind: 'offered', rate: 101n * one })
  })

  it('takes its time by the clock that cannot be set', () => {
    let state = told([0, 100n * one], [10_000, 200n * one])
    state = weigh(state, { token: 'SOL', rate: 200n * one }, after(20_000, 40_000), limits)
    expect(kindAt(state, after(20_000, 40_000))).toBe('jumped')
    state = weigh(state, { token: 'SOL', rate: 200n * one }, after(30_000, 90_000), { ...limits, jumpHoldSeconds: 60 })
    expect(state.held).toBeDefined()
  })
})

describe('the first reading', () => {
  const first = (rate: bigint, average: bigint | string) =>
    weigh(unreadRate, { ...sol(rate), average }, after(0), limits)

  it('is judged by the average, where the source tells one', () => {
    expect(kindAt(first(100n * one, 90n * one), after(0))).toBe('offered')
    expect(computeOffer(first(100n * one, 80n * one), after(0), limits)).toEqual({
      kind: 'jumped',
      why: 'its rate jumped away from its average to 100 USDC and must stay there for 300 s',
    })
  })

  it('does not count with an average that cannot be', () => {
    expect(kindAt(first(100n * one, 0n), after(0))).toBe('refused')
  })

  it('is believed when a later one is near the average', () => {
    const state = weigh(first(100n * one, 80n * one), { ...sol(82n * one), average: 80n * one }, after(1_000), limits)
    expect(computeOffer(state, after(1_000), limits)).toEqual({ kind: 'offered', rate: 82n * one })
  })

  it('alone looks at the average', () => {
    const state = weigh(told([0, 100n * one]), { ...sol(101n * one, 1_000), average: one }, after(1_000), limits)
    expect(kindAt(state, after(1_000))).toBe('offered')
  })
})

it('millionths are exact for six decimals', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 10 ** 6 }), (n) => millionths(n / 1e6) === BigInt(n)))
})

it('a rate as text is the same rate', () => {
  fc.assert(fc.property(fc.bigInt({ min: 1n, max: 10n ** 21n }), (rate) => parseRate(formatRate(rate)) === rate))
})
