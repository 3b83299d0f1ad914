import { afterEach, expect, it, vi } from 'vitest'
import { createMeter } from '../core/observability/metrics.ts'
import type { ChainTime } from '../core/ports/chain.ts'
import { measure, type RunningClockCheck, startClockCheck } from './clock-check.ts'

const now = 1_800_000_000_000

it.each<[string, ChainTime, number | undefined]>([
  ['the chain is a little behind', { chainMs: now - 2_000, nodeMs: now }, 2_000],
  ['the chain is a little ahead', { chainMs: now + 2_000, nodeMs: undefined }, -2_000],
  ['T174: the clock is behind', { chainMs: now + 600_000, nodeMs: now + 600_000 }, -600_000],
  ['T174: the clock is behind, and so is the node’s', { chainMs: now + 600_000, nodeMs: now }, -600_000],
  ['T174: the clock is ahead', { chainMs: now - 600_000, nodeMs: now - 599_000 }, 599_000],
  ['T174: the clock is ahead, and the node lags', { chainMs: now - 700_000, nodeMs: now - 600_000 }, 600_000],
  ['T174: the node lags', { chainMs: now - 100_000, nodeMs: now }, 0],
  ['T174: the node lags, and the clock is a little ahead', { chainMs: now - 100_000, nodeMs: now - 3_000 }, 3_000],
  ['T174: the chain is behind, and the node has no clock', { chainMs: now - 600_000, nodeMs: undefined }, undefined],
  ['T174: the node lags, and its clock is ahead', { chainMs: now - 100_000, nodeMs: now + 600_000 }, undefined],
])('%s', (_what, time, aheadMs) => {
  expect(measure(now, time)).toBe(aheadMs)
})

let check: RunningClockCheck | undefined
afterEach(() => check?.stop())

/** Plays readings one after the other, by how far the clock is ahead in seconds, and tells what was thought after each. */
async function play(readings: readonly (number | undefined)[]) {
  const verdicts: boolean[] = []
  const logged: string[] = []
  const note = (event: string) => void logged.push(event)
  const meter = createMeter()
  let at = 0
  await new Promise<void>((done) => {
    const read = async (): Promise<ChainTime | undefined> => {
      if (at > 0 && at <= readings.length) verdicts.push(check?.why() !== undefined)
      if (at === readings.length) done()
      const ahead = readings[at++]
      return ahead === undefined ? undefined : { chainMs: now - ahead * 1000, nodeMs: now - ahead * 1000 }
    }
    check = startClockCheck({
      read,
      meter,
      clock: { now: () => now, monotonic: () => 0 },
      log: { info: note, warn: note, error: note },
      pauses: { calmMs: 0, hurriedMs: 0 },
    })
  })
  return { verdicts, logged, metrics: meter.format() }
}

it('T174: the first reading decides', async () => {
  expect(await play([600])).toMatchObject({ verdicts: [true], logged: ['clock.wrong'] })
  expect(await play([-31])).toMatchObject({ verdicts: [true], logged: ['clock.wrong'] })
  expect(await play([29])).toMatchObject({ verdicts: [false], logged: [] })
})

it('T174: later, three in a row change the verdict, and each change is one line', async () => {
  const { verdicts, logged, metrics } = await play([0, 31, 31, 0, 31, 31, 31, 600, 25, 25, 25, 19, 19, 25, 19, 19, 19])
  expect(verdicts.map(Number).join('')).toBe('00000011111111110')
  expect(logged).toEqual(['clock.wrong', 'clock.corrected'])
  expect(metrics).toContain('paystile_clock_ahead_seconds 19')
})

it('T174: no answer changes nothing', async () => {
  expect(await play([undefined, 600, undefined, undefined, undefined])).toMatchObject({
    verdicts: [false, true, true, true, true],
  })
  expect(await play([0, 600, undefined, 600, undefined, 600])).toMatchObject({
    verdicts: [false, false, false, false, false, true],
  })
})

it.each([
  ['a moment later', 0, 0, true],
  ['29 seconds later', 29_000, 29_000, true],
  ['31 seconds later, without a new reading', 31_000, 31_000, false],
  ['after the clock was set ahead', 6_000, 0, false],
  ['after the clock was set back', -6_000, 0, false],
])('T209: whether a verdict holds %s', async (_name, wallMs, monotonicMs, isConfirmed) => {
  const passed = { wallMs: 0, monotonicMs: 0 }
  check = startClockCheck({
    read: async () => ({ chainMs: now, nodeMs: now }),
    meter: createMeter(),
    clock: { now: () => now + passed.wallMs, monotonic: () => passed.monotonicMs },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  })
  expect(check.isConfirmed()).toBe(false)
  await check.first
  expect(check.isConfirmed()).toBe(true)
  Object.assign(passed, { wallMs, monotonicMs })
  expect(check.isConfirmed()).toBe(isConfirmed)
})

it('T209: a verdict does not hold while a reading contradicts it', async () => {
  let aheadMs = 0
  check = startClockCheck({
    read: async () => ({ chainMs: now - aheadMs, nodeMs: now - aheadMs }),
    meter: createMeter(),
    clock: { now: () => now, monotonic: () => 0 },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    pauses: { calmMs: 0, hurriedMs: 10 },
  })
  const { isConfirmed, aheadMs: readAhead } = check
  await check.first
  aheadMs = 600_000
  await vi.waitFor(() => expect([isConfirmed(), readAhead()]).toEqual([false, 0]), { interval: 1 })
  await vi.waitFor(() => expect([isConfirmed(), readAhead()]).toEqual([true, 600_000]), { interval: 1 })
})
