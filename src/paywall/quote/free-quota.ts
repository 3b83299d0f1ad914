/** Free requests, counted by client address, before the paywall responds with 402. */
import type { Limits } from '../../core/collections/limits.ts'
import type { Clock } from '../../core/runtime.ts'
import type { RouteConfig } from '../config/config.ts'
import type { FreeQuota } from '../config/pricing.ts'

export interface FreeCounter {
  /** Counts a request; false if the quota of the address is used. */
  admit(address: string): ReturnType<Limits['admitFree']>
}

export function createFreeCounter(
  { scope, endpoint }: Pick<RouteConfig, 'scope' | 'endpoint'>,
  { requests, seconds }: FreeQuota,
  { clock, limits }: { readonly clock: Clock; readonly limits: Limits },
): FreeCounter {
  const quota = JSON.stringify([scope, endpoint, requests, seconds])
  return {
    admit: (address) => {
      const period = Math.floor(clock.now() / 1000 / seconds)
      return limits.admitFree({ quota, address, most: requests, period })
    },
  }
}
