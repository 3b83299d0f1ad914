/**
 * Limits what somebody without a payment can cost. Proofs that lead nowhere are counted against the client's address, and
 * against its use of one requestId; never against a requestId or transaction alone, since these are public and a
 * stranger could lock the payer out.
 */
import { unknownAddress } from '../core/client-address.ts'
import type { Clock } from '../core/ports.ts'

export interface Budget {
  /** Undefined when the client has used up its credit. */
  enter(address: string, requestId: string): Visit | undefined
}

export interface Visit {
  /** Whether the client has lately named payments that do not exist. */
  readonly isDoubtful: boolean
  /** To be called once. A proof that led nowhere costs credit. */
  leave(wasUseful: boolean): void
}

interface Rate {
  readonly most: number
  readonly perSecond: number
}

/** An office behind one address may hold many payers; one requestId is one payer's. */
const perAddress: Rate = { most: 30, perSecond: 0.5 }
const perRequest: Rate = { most: 5, perSecond: 0.2 }
/** Proofs of one address that wait at the same time. */
const mostAtOnce = 64
const mostKept = 10_000

interface Credit {
  left: number
  at: number
  waiting: number
}

export function createBudget(clock: Clock): Budget {
  const addresses = new Map<string, Credit>()
  const requests = new Map<string, Credit>()

  const creditOf = (credits: Map<string, Credit>, key: string, { most, perSecond }: Rate): Credit => {
    const now = clock.monotonic()
    const credit = credits.get(key) ?? { left: most, at: now, waiting: 0 }
    credit.left = Math.min(most, credit.left + ((now - credit.at) / 1000) * perSecond)
    credit.at = now
    // The longest unused goes first.
    credits.delete(key)
    credits.set(key, credit)
    for (const oldest of credits.keys()) {
      if (credits.size <= mostKept) break
      credits.delete(oldest)
    }
    return credit
  }

  return {
    enter: (address, requestId) => {
      // Nobody is refused for what others did whose address is not known either; but nobody is believed at once.
      if (address === unknownAddress) return { isDoubtful: true, leave: () => {} }
      const client = creditOf(addresses, address, perAddress)
      const use = creditOf(requests, `${address} ${requestId}`, perRequest)
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
