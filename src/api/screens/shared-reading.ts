/** One reading of slow data for several readers at the same time. */
import type { Clock } from '../../core/runtime.ts'

/** Returns the same reading to all callers for a while. A failed one is not kept. */
export function shareReading<Value>(
  read: () => Promise<Value>,
  clock: Pick<Clock, 'monotonic'>,
  keptMs: number,
): () => Promise<Value> {
  let kept: { readonly value: Promise<Value>; readonly until: number } | undefined
  return () => {
    const now = clock.monotonic()
    if (kept && now < kept.until) return kept.value
    const value = read()
    const own = { value, until: now + keptMs }
    kept = own
    value.catch(() => {
      if (kept === own) kept = undefined
    })
    return value
  }
}
