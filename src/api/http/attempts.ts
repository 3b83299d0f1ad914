/** Limits how often a client address may try expensive operations. */

import type { Limits } from '../../core/collections/limits.ts'
import type { BucketRate } from '../../core/collections/token-bucket.ts'
import { unknownAddress } from '../../core/http/client-address.ts'

const perAddress: BucketRate = { most: 20, secondsEach: 5 }

/** Attempts with different names count separately. */
export function createAttempts(limits: Limits, book: string) {
  return {
    /** False if the limit is reached. Failed and successful attempts count alike. */
    take: async (address: string) => {
      // Clients without a known address are not limited, because they would share one limit.
      if (address === unknownAddress) return true
      const entry = await limits.enter({ buckets: [{ book, name: address, rate: perAddress }], cost: 1 })
      return entry.kind === 'in'
    },
  }
}
