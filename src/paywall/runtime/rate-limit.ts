/**
 * Limits what somebody without a payment can cost. Proofs that lead nowhere are counted against the client's address, and
 * against its use of one requestId; never against a requestId or transaction alone, since these are public and a
 * stranger could lock the payer out.
 */
import { unknownAddress } from '../../core/encoding/client-address.ts'
import type { Clock } from '../../core/runtime.ts'
import type { BucketRate } from './token-bucket.ts'
import { createTokenBuckets } from './token-bucket.ts'

export interface RateLimit {
  /** Undefined when the client has used up its credit. */
  enter(address: string, requestId: string): RateLimitVisit | undefined
}

export interface RateLimitVisit {
  /** Whether the client has lately named payments that do not exist. */
  readonly isDoubtful: boolean
  /** To be called once. A proof that led nowhere costs credit. */
  leave(wasUseful: boolean): void
}

/** An office behind one address may hold many payers; one requestId is one payer's. */
const perAddress: BucketRate = { most: 30, secondsEach: 2 }
const perRequest: BucketRate = { most: 5, secondsEach: 5 }
/** Proofs of one address that wait at the same time. */
const mostAtOnce = 64

export function createRateLimit(clock: Clock): RateLimit {
  const addresses = createTokenBuckets(clock)
  const requests = createTokenBuckets(clock)

  return {
    enter: (address, requestId) => {
      // Nobody is refused for what others did whose address is not known either; but nobody is believed at once.
      if (address === unknownAddress) return { isDoubtful: true, leave: () => {} }
      const client = addresses(address, perAddress)
      const use = requests(`${address} ${requestId}`, perRequest)
      if (client.left < 1 || use.left < 1 || client.waiting >= mostAtOnce) return undefined
      client.waiting += 1
      return {
        isDoubtful: client.left < perAddress.most,
        leave: (wasUseful) => {
          client.waiting -= 1
          if (wasUseful) return
          client.left -= 1
          use.left -= 1
        },
      }
    },
  }
}
