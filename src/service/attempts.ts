/** How often a client's address may try something that costs us. Bounded, however many addresses there are. */
import { unknownAddress } from '../core/client-address.ts'
import type { Clock } from '../core/ports.ts'

export interface Attempts {
  /** False when the address has none left. Those that came to nothing and those that succeeded count alike. */
  take(address: string): boolean
}

const most = 20
const perSecond = 0.2
const mostKept = 10_000

export function createAttempts(clock: Clock): Attempts {
  const credits = new Map<string, { left: number; at: number }>()
  return {
    take: (address) => {
      // Nobody is refused for what others did whose address is not known either.
      if (address === unknownAddress) return true
      const now = clock.monotonic()
      const credit = credits.get(address) ?? { left: most, at: now }
      credit.left = Math.min(most, credit.left + ((now - credit.at) / 1000) * perSecond)
      credit.at = now
      // The longest unused goes first.
      credits.delete(address)
      credits.set(address, credit)
      for (const oldest of credits.keys()) {
        if (credits.size <= mostKept) break
        credits.delete(oldest)
      }
      if (credit.left < 1) return false
      credit.left -= 1
      return true
    },
  }
}
