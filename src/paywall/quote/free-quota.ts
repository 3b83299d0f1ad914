/**
 * Free requests, counted by client address, before the paywall responds with 402. Each server counts separately, in
 * bounded memory: beyond the limit, further addresses must pay.
 */
import type { Clock } from '../../core/runtime.ts'
import type { FreeQuota } from '../config/pricing.ts'

export interface FreeCounter {
  /** Counts a request; false if the quota of the address is used. */
  admit(address: string): boolean
}

const mostAddresses = 100_000

export function createFreeCounter({ requests, seconds }: FreeQuota, clock: Clock): FreeCounter {
  let counts = new Map<string, number>()
  let period = Number.NaN
  return {
    admit: (address) => {
      // One period for all, so that no data of an address is kept beyond it.
      const now = Math.floor(clock.now() / 1000 / seconds)
      if (now !== period) {
        counts = new Map()
        period = now
      }
      const count = counts.get(address) ?? 0
      if (count >= requests || (count === 0 && counts.size >= mostAddresses)) return false
      counts.set(address, count + 1)
      return true
    },
  }
}
