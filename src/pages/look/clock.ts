/** The one place where the pages ask for the time. */
export function now(): number {
  return Date.now()
}
