/** The only place where a page reads the time. */

/** The lead of the service's clock over this computer's. */
let ahead = 0
/** A smaller gap is network latency, and the resolution of one second of `Date`. */
const littleMs = 30_000

/** The service's time, in milliseconds since 1970. Before the first response, this computer's time. */
export function now(): number {
  return Date.now() + ahead
}

/** Sets the clock from the header `Date` of a response. */
export function takeTime(date: string | null): void {
  const gap = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(gap)) ahead = Math.abs(gap) < littleMs ? 0 : gap
}

/** Milliseconds since the page was requested. Changes of the system clock do not affect it. */
export function monotonic(): number {
  return performance.now()
}
