/**
 * The chain's clock, and the only place here that asks the machine for the time.
 *
 * It follows the wall clock at a distance that tests may change, and it never goes back: when the machine's clock is
 * set back, the distance grows instead.
 */
export interface Clock {
  /** Chain time in milliseconds since 1970. */
  now(): number
  shift(milliseconds: number): void
  /** Chain time less wall time: what a reopened chain needs to go on where it was. */
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
