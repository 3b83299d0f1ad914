/** The only place where a page asks for the time. */

/** How far the service is ahead of this computer. */
let ahead = 0
/** A little is the way between the two, and the second to which a service tells its time. */
const littleMs = 30_000

/** The time of day by which the service goes, in milliseconds since 1970: until it has told it, that of this computer. */
export function now(): number {
  return Date.now() + ahead
}

/** Takes the `Date` of an answer for the time. */
export function takeTime(date: string | null): void {
  const gap = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(gap)) ahead = Math.abs(gap) < littleMs ? 0 : gap
}

/** Milliseconds since the page was asked for. Nobody can set it. */
export function monotonic(): number {
  return performance.now()
}
