/**
 * Limits the cost of clients without a payment. An invalid proof counts against the client's address, and against the
 * pair of address and requestId. It never counts against a requestId or a transaction alone: these are public, and a
 * stranger could lock out the payer.
 */

import type { Limits } from '../../core/collections/limits.ts'
import type { BucketRate } from '../../core/collections/token-bucket.ts'
import { unknownAddress } from '../../core/http/client-address.ts'

export interface RateLimit {
  /** Undefined if the client has exceeded its limit. */
  enter(address: string, requestId: string): Promise<RateLimitVisit | undefined>
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

/** Limits with different names count separately. */
export function createRateLimit(limits: Limits, name: string, { perAddress, mostAtOnce } = usualLimits): RateLimit {
  return {
    enter: async (address, requestId) => {
      // Clients without a known address share no limit, because they would lock out each other. Their proofs are read
      // with caution.
      if (address === unknownAddress) return { isDoubtful: true, leave: () => {} }
      const client = { book: name, name: address, rate: perAddress }
      const use = { book: `${name}/request`, name: `${address} ${requestId}`, rate: perRequest }
      const entry = await limits.enter({ buckets: [client, use], cost: 0, mostAtOnce })
      if (entry.kind === 'later') return undefined
      return { isDoubtful: !entry.isFull, leave: (wasUseful) => entry.leave(wasUseful ? 0 : 1) }
    },
  }
}
