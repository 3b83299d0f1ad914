/** The machine's clock. Only this file reads it, except for the localnet, which has its own clock. */
import type { Clock } from '../core/runtime.ts'

export function createWallClock(): Clock {
  return { now: () => Date.now(), monotonic: () => performance.now() }
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
