/**
 * Limits by name: token buckets and free quotas. A service in one process keeps them itself. The processes of a gateway
 * share those of their supervisor, so entering may take a message to it and back.
 */
import type { Clock } from '../runtime.ts'
import { type BucketRate, createTokenBuckets, type TokenBucket } from './token-bucket.ts'

/** A bucket in one of several books. Each book keeps a bounded number of buckets, whatever happens in the others. */
export interface LimitBucket {
  readonly book: string
  readonly name: string
  readonly rate: BucketRate
}

export interface LimitOrder {
  /** Every bucket needs a token. */
  readonly buckets: readonly LimitBucket[]
  /** Tokens that every bucket loses at once. `leave` replaces this cost. */
  readonly cost: 0 | 1
  /** How many visits may use the first bucket at the same time, from `enter` to `leave`. */
  readonly mostAtOnce?: number | undefined
}

export interface LimitVisit {
  readonly kind: 'in'
  /** Whether the first bucket had all its tokens. */
  readonly isFull: boolean
  /** Sets the final cost. Must be called once after an order with `mostAtOnce`. */
  leave(cost: 0 | 1): void
}

export type LimitEntry =
  | LimitVisit
  /** `seconds`: the time until all buckets have a token. */
  | { readonly kind: 'later'; readonly seconds: number }

/** One more free request of a client. */
export interface FreeOrder {
  readonly quota: string
  readonly address: string
  readonly most: number
  /** The number of the current period. A new period starts all counts again. */
  readonly period: number
}

export interface Limits {
  enter(order: LimitOrder): LimitEntry | Promise<LimitEntry>
  /** False if the client has used its quota. */
  admitFree(order: FreeOrder): boolean | Promise<boolean>
}

/** Limits that answer without waiting. */
export interface LocalLimits extends Limits {
  enter(order: LimitOrder): LimitEntry
  admitFree(order: FreeOrder): boolean
}

const mostAddresses = 100_000

/** The limits of this process. */
export function createLimits({ monotonic }: Pick<Clock, 'monotonic'>): LocalLimits {
  const books = new Map<string, ReturnType<typeof createTokenBuckets>>()
  const findBucket = ({ book, name, rate }: LimitBucket): TokenBucket => {
    const known = books.get(book) ?? createTokenBuckets({ monotonic })
    books.set(book, known)
    return known(name, rate)
  }
  const quotas = new Map<string, { readonly period: number; readonly counts: Map<string, number> }>()
  return {
    enter: ({ buckets, cost, mostAtOnce }) => {
      const found = buckets.map((one) => ({ rate: one.rate, bucket: findBucket(one) }))
      const seconds = Math.max(...found.map(({ rate, bucket }) => (1 - bucket.left) * rate.secondsEach))
      const first = found[0]
      const isCrowded = first !== undefined && mostAtOnce !== undefined && first.bucket.waiting >= mostAtOnce
      if (seconds > 0 || isCrowded) return { kind: 'later', seconds: Math.max(seconds, 1) }
      const isFull = first === undefined || first.bucket.left >= first.rate.most
      for (const { bucket } of found) bucket.left -= cost
      if (first && mostAtOnce !== undefined) first.bucket.waiting += 1
      return {
        kind: 'in',
        isFull,
        leave: (final) => {
          if (first && mostAtOnce !== undefined) first.bucket.waiting -= 1
          for (const { bucket } of found) bucket.left -= final - cost
        },
      }
    },
    admitFree: ({ quota, address, most, period }) => {
      const known = quotas.get(quota)
      // One period for all, so that no data of an address is kept beyond it. A clock that lags counts in the newer one.
      const current = known && known.period >= period ? known : { period, counts: new Map<string, number>() }
      quotas.set(quota, current)
      const { counts } = current
      const count = counts.get(address) ?? 0
      if (count >= most || (count === 0 && counts.size >= mostAddresses)) return false
      counts.set(address, count + 1)
      return true
    },
  }
}
