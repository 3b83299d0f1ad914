/**
 * Token buckets by name, for rate limits. The number of buckets is bounded; the least recently used one is dropped
 * first.
 */
import type { Clock } from '../runtime.ts'
import { setNewest } from './bounded-map.ts'

export interface BucketRate {
  readonly most: number
  /** Seconds until one token returns. */
  readonly secondsEach: number
}

/** The caller takes tokens by decreasing `left`. */
export interface TokenBucket {
  left: number
  /** Number of running requests that use the bucket, if the caller counts them. */
  waiting: number
}

const mostKept = 10_000

export function createTokenBuckets(clock: Pick<Clock, 'monotonic'>): (name: string, rate: BucketRate) => TokenBucket {
  const credits = new Map<string, TokenBucket & { at: number }>()
  return (name, { most, secondsEach }) => {
    const now = clock.monotonic()
    const credit = credits.get(name) ?? { left: most, waiting: 0, at: now }
    credit.left = Math.min(most, credit.left + (now - credit.at) / 1000 / secondsEach)
    credit.at = now
    setNewest(credits, name, credit, mostKept)
    return credit
  }
}
