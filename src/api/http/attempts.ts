/** How often a client's address may try something that costs us. */
import { unknownAddress } from '../../core/encoding/client-address.ts'
import type { Clock } from '../../core/runtime.ts'
import type { BucketRate } from '../../paywall/runtime/token-bucket.ts'
import { createTokenBuckets } from '../../paywall/runtime/token-bucket.ts'

export interface AttemptLimit {
  /** False when the address has none left. Those that came to nothing and those that succeeded count alike. */
  take(address: string): boolean
}

const perAddress: BucketRate = { most: 20, secondsEach: 5 }

export function createAttempts(clock: Clock): AttemptLimit {
  const findBucket = createTokenBuckets(clock)
  return {
    take: (address) => {
      // Nobody is refused for what others did whose address is not known either.
      if (address === unknownAddress) return true
      const credit = findBucket(address, perAddress)
      if (credit.left < 1) return false
      credit.left -= 1
      return true
    },
  }
}
