/**
 * Limits the cost of clients without a payment. An invalid proof counts against the client's address, and against the
 * pair of address and requestId. It never counts against a requestId or a transaction alone: these are public, and a
 * stranger could lock out the payer.
 */

import { type BucketRate, createTokenBuckets } from '../../core/collections/token-bucket.ts'
import { unknownAddress } from '../../core/http/client-address.ts'
import type { Clock } from '../../core/runtime.ts'

export interface RateLimit {
  /** Undefined if the client has exceeded its limit. */
  enter(address: string, requestId: string): RateLimitVisit | undefined
}

export interface RateLimitVisit {
  /** Whether the client recently named payments that do not exist. */
  readonly isDoubtful: boolean
  /** Must be called once. A proof without a valid payment costs one token. */
  leave(wasUseful: boolean): void
}

export interface AddressLimits {
  readonly perAddress: BucketRate
  /** Proofs of one address that may wait at the same time. */
  readonly mostAtOnce: number
}

/** Many payers may share the address of an office. A requestId belongs to one payer. */
const usualLimits: AddressLimits = { perAddress: { most: 30, secondsEach: 2 }, mostAtOnce: 64 }
const perRequest: BucketRate = { most: 5, secondsEach: 5 }

export function createRateLimit(clock: Clock, { perAddress, mostAtOnce } = usualLimits): RateLimit {
  const addresses = createTokenBuckets(clock)
  const requests = createTokenBuckets(clock)

  return {
    enter: (address, requestId) => {
      // Clients without a known address share no limit, because they would lock out each other. Their proofs are read
      // with caution.
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
