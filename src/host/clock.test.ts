import { describe, expect, it } from 'vitest'
import { createSleepingMachine } from '../../tests/harness/sleeping-machine.ts'
import { createWallClock } from './clock.ts'

describe('the monotonic time', () => {
  it.each([
    ['passes with the counter', 0, 0],
    ['ignores a correction of the wall clock', 1_000, 0],
    ['T202: includes the time for which the machine slept', 60_000, 60_000],
    ['is not set back with the wall clock', -60_000, 0],
  ])('%s', (_name, leap, expected) => {
    const { clock, pass, sleep } = createSleepingMachine()
    const start = clock.monotonic()
    sleep(leap)
    pass(10)
    expect(clock.monotonic() - start).toBe(10 + expected)
    pass(10)
    expect(clock.monotonic() - start).toBe(20 + expected)
  })

  it('T202: includes each sleep, also after the wall clock was set back', () => {
    const { clock, sleep } = createSleepingMachine()
    const start = clock.monotonic()
    for (const leap of [2_000, -100_000, 3_000]) {
      sleep(leap)
      clock.monotonic()
    }
    expect(clock.monotonic() - start).toBe(5_000)
  })

  it('does not take a process that stood still between two readings for a machine that slept', () => {
    const time = { wall: 0, counted: 0 }
    let stands = 0
    const clock = createWallClock(
      () => time.wall,
      () => {
        const { counted } = time
        if (stands > 0) Object.assign(time, { wall: time.wall + stands, counted: counted + stands })
        stands = 0
        return counted
      },
    )
    stands = 30_000
    expect(clock.monotonic()).toBe(30_000)
    expect(clock.monotonic()).toBe(30_000)
  })
})
