/**
 * The chain's clock, and the only code here that reads the machine's time.
 *
 * It follows the wall clock with an offset that tests can change. It never goes back: if the machine's clock is set
 * back, the offset grows.
 */
export interface Clock {
  /** Chain time in milliseconds since 1970. */
  now(): number
  shift(milliseconds: number): void
  /** Chain time less wall time, with which a reopened chain continues. */
  offset(): number
}

export function wallTime(): number {
  return Date.now()
}

export function createClock(offsetMilliseconds: number, wall: () => number = wallTime): Clock {
  let offset = offsetMilliseconds
  let last = wall()
  function now(): number {
    const at = wall()
    if (at < last) offset += last - at
    last = at
    return at + offset
  }
  return {
    now,
    shift(milliseconds) {
      offset += milliseconds
    },
    offset: () => offset,
  }
}
