/** The only place where a page asks for the time. */

/** The time of day, in milliseconds since 1970, as this computer has it: wrong on some. */
export function now(): number {
  return Date.now()
}

/** Milliseconds since the page was asked for. Nobody can set it. */
export function monotonic(): number {
  return performance.now()
}
