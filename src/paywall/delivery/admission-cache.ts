/**
 * A cache of open time windows. A repeated request with the same proof within one second reuses the earlier admission.
 * Nothing is held or recorded for an open window, so only two things can change: the window ends, which every use
 * checks, or the chain reverts the payment, which this server learns at once and other servers within a second.
 */
import type { Incoming } from '../../core/http/http.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import type { Clock } from '../../core/runtime.ts'
import type { Admission } from '../claim/admit.ts'
import type { RouteConfig } from '../config/config.ts'
import { createReceiptCache, type ReceiptCache } from './receipt.ts'

export interface OpenWindow {
  readonly proof: Proof
  readonly admission: Admission
  /** Shared by all responses of this second. */
  readonly receipts: ReceiptCache
}

export interface OpenWindows {
  find(incoming: Incoming): OpenWindow | undefined
  /** Stores an admission if it can be reused. */
  keep(incoming: Incoming, proof: Proof, admission: Admission): void
  clear(): void
}

interface Kept extends OpenWindow {
  readonly until: number
  readonly method: string
  readonly origin: string
}

const keptMs = 1_000
const mostWindows = 1_024
const longestTarget = 512

/** Undefined if the route does not sell time, or if its binding depends on more than method and address. */
export function createOpenWindows(
  clock: Clock,
  { bind, pricing: { per } }: Pick<RouteConfig, 'bind' | 'pricing'>,
): OpenWindows | undefined {
  if (per.kind !== 'allowance' || per.allowance.unit !== 'second' || typeof bind === 'object') return undefined
  // By proof, then by requested address.
  const windows = new Map<string, Map<string, Kept>>()
  let count = 0
  const clear = (): void => {
    windows.clear()
    count = 0
  }
  return {
    find: (incoming) => {
      const header = count === 0 ? undefined : incoming.header('payment-proof')
      const window = header === undefined ? undefined : windows.get(header)?.get(incoming.target)
      // The admission depends only on the proof, the address, the method and the origin.
      if (!window || window.method !== incoming.method || window.origin !== incoming.origin()) return undefined
      return clock.monotonic() < window.until && clock.now() < window.admission.usableUntil ? window : undefined
    },
    keep: (incoming, proof, admission) => {
      // A signature has its own expiry, which a reuse would have to check again.
      const isPlain = proof.claim !== undefined && proof.sig === undefined
      if (!isPlain || admission.grant || admission.allowance.unit !== 'second') return
      const header = incoming.header('payment-proof')
      if (header === undefined || incoming.target.length > longestTarget) return
      if (count >= mostWindows) clear()
      const ofProof = windows.get(header) ?? new Map()
      windows.set(header, ofProof)
      const { method, target } = incoming
      if (!ofProof.has(target)) count += 1
      const until = clock.monotonic() + keptMs
      ofProof.set(target, {
        proof,
        admission,
        receipts: createReceiptCache(),
        until,
        method,
        origin: incoming.origin(),
      })
    },
    clear,
  }
}
