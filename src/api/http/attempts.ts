/** Limits how often a client address may try expensive operations. */

import { type BucketRate, createTokenBuckets } from '../../core/collections/token-bucket.ts'
import { unknownAddress } from '../../core/http/client-address.ts'
import type { Clock } from '../../core/runtime.ts'

const perAddress: BucketRate = { most: 20, secondsEach: 5 }

export function createAttempts(clock: Clock) {
  const findBucket = createTokenBuckets(clock)
  return {
    /** False if the limit is reached. Failed and successful attempts count alike. */
    take: (address: string) => {
      // Clients without a known address are not limited, because they would share one limit.
      if (address === unknownAddress) return true
      const credit = findBucket(address, perAddress)
      if (credit.left < 1) return false
      credit.left -= 1
      return true
    },
  }
}
