/** The machine's clock. Only this file reads it, except for the localnet, which has its own clock. */
import type { Clock } from '../core/runtime.ts'

/** Smaller leaps of the wall clock are corrections. */
const leastSleepMs = 1_000

/**
 * The monotonic time includes the time for which the machine slept. The counter of Linux stands still meanwhile, so a
 * leap of the wall clock counts as time that has passed. A process that slept then knows that its leases have ended.
 */
export function createWallClock(now = () => Date.now(), count = () => performance.now()): Clock {
  let sleptMs = 0
  let ahead = now() - count()
  const monotonic = (): number => {
    const counted = count()
    if (Math.abs(now() - counted - ahead) <= leastSleepMs) return counted + sleptMs
    // The process may have stood still between the two readings, so both are read again.
    const leap = now() - count() - ahead
    ahead += leap
    if (leap > leastSleepMs) sleptMs += leap
    return count() + sleptMs
  }
  return { now, monotonic }
}

export interface FollowingClock extends Clock {
  /** Measures the offset now. */
  sync(): Promise<void>
  stop(): void
}

/**
 * A clock that follows another, such as the movable one of a localnet: this machine's time plus an offset, measured
 * again every `everyMs`. Differences below a second and a half are within the other clock's resolution and are ignored.
 */
export function createFollowingClock(read: () => Promise<number | undefined>, everyMs = 200): FollowingClock {
  const wall = createWallClock()
  let offset = 0
  const sync = async (): Promise<void> => {
    const asked = wall.now()
    const time = await read()
    if (time === undefined) return
    const difference = time - (asked + wall.now()) / 2
    if (Math.abs(difference - offset) >= 1500) offset = Math.abs(difference) < 1500 ? 0 : difference
  }
  const timer = setInterval(() => void sync().catch(() => {}), everyMs)
  timer.unref()
  return { now: () => wall.now() + offset, monotonic: wall.monotonic, sync, stop: () => clearInterval(timer) }
}
