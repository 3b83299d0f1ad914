/**
 * Requests that cost nothing, counted by client address, before the 402 begins. Each server counts for itself, in memory
 * that is bounded: when too many addresses came by, the next ones are asked to pay.
 */
import type { Clock } from '../../core/runtime.ts'
import type { FreeQuota } from '../config/pricing.ts'

export interface FreeCounter {
  /** Counts a request; false when the address has had its share. */
  admit(address: string): boolean
}

const mostAddresses = 100_000

export function createFreeCounter({ requests, seconds }: FreeQuota, clock: Clock): FreeCounter {
  let counts = new Map<string, number>()
  let period = Number.NaN
  return {
    admit: (address) => {
      // One period for all, so that nothing has to be kept of an address beyond it.
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
