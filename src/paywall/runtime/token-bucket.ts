/**
 * Credit that comes back with time, by name: what a stranger may ask of us. Bounded, however many names there are; the
 * longest unused is forgotten first.
 */
import type { Clock } from '../../core/runtime.ts'

export interface BucketRate {
  readonly most: number
  /** Until one comes back. */
  readonly secondsEach: number
}

/** To be taken from by whoever asked for it. */
export interface TokenBucket {
  left: number
  /** What was begun on it and has not ended, where somebody counts that. */
  waiting: number
}

const mostKept = 10_000

export function createTokenBuckets(clock: Clock): (name: string, rate: BucketRate) => TokenBucket {
  const credits = new Map<string, TokenBucket & { at: number }>()
  return (name, { most, secondsEach }) => {
    const now = clock.monotonic()
    const credit = credits.get(name) ?? { left: most, waiting: 0, at: now }
    credit.left = Math.min(most, credit.left + (now - credit.at) / 1000 / secondsEach)
    credit.at = now
    credits.delete(name)
    credits.set(name, credit)
    for (const oldest of credits.keys()) {
      if (credits.size <= mostKept) break
      credits.delete(oldest)
    }
    return credit
  }
}
