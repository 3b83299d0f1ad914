import { createWallClock } from '../../src/host/clock.ts'

/** A machine whose counter stands still while it sleeps. */
export function createSleepingMachine() {
  const time = { wall: 1_700_000_000_000, counted: 5_000 }
  const pass = (ms: number): void => {
    time.wall += ms
    time.counted += ms
  }
  const sleep = (ms: number): void => {
    time.wall += ms
  }
  const clock = createWallClock(
    () => time.wall,
    () => time.counted,
  )
  return { clock, pass, sleep }
}
