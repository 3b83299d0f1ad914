/**
 * A cache of admissions. A repeated request with the same proof within one second reuses the checks of the earlier one:
 * its seal, its binding, and its claim or signature.
 *
 * The cache never decides about the state of a payment. A bundle takes each use from the ledger, which refuses a spent,
 * refunded, reverted or expired payment. Nothing is held or recorded for an open time window, so only two things can
 * change: the window ends, which every use checks, or the payment is refunded or reverted, which all servers learn
 * within a second.
 */
import type { Incoming } from '../../core/http/http.ts'
import { type Allowance, isOneRequest } from '../../core/payment/allowance.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import type { Clock } from '../../core/runtime.ts'
import type { Admission } from '../claim/admit.ts'
import type { RouteConfig } from '../config/config.ts'
import { createReceiptCache, type ReceiptCache } from './receipt.ts'

export interface RecentAdmission {
  readonly proof: Proof
  readonly admission: Admission
  /** Shared by all responses of this second. */
  readonly receipts: ReceiptCache
}

export interface RecentAdmissions {
  find(incoming: Incoming): RecentAdmission | undefined
  /** Stores an admission if it can be reused. */
  keep(incoming: Incoming, proof: Proof, admission: Admission): void
  clear(): void
}

interface Kept extends RecentAdmission {
  readonly until: number
  readonly method: string
  readonly origin: string
}

const keptMs = 1_000
const mostAdmissions = 1_024
const longestTarget = 512

/** Undefined if the route sells neither bundles nor time. */
export function createRecentAdmissions(
  clock: Clock,
  { pricing: { per } }: Pick<RouteConfig, 'pricing'>,
): RecentAdmissions | undefined {
  if (per.kind !== 'allowance' || !isRepeated(per.allowance)) return undefined
  // By the whole header, then by requested address.
  const kept = new Map<string, Map<string, Kept>>()
  let count = 0
  const clear = (): void => {
    kept.clear()
    count = 0
  }
  return {
    find: (incoming) => {
      const header = count === 0 ? undefined : incoming.header('payment-proof')
      const found = header === undefined ? undefined : kept.get(header)?.get(incoming.target)
      // The checks depend only on the proof, the address, the method and the origin.
      if (!found || found.method !== incoming.method || found.origin !== incoming.origin()) return undefined
      return clock.monotonic() < found.until && clock.now() < found.admission.usableUntil ? found : undefined
    },
    keep: (incoming, proof, admission) => {
      if (!isReusable(proof, admission)) return
      const header = incoming.header('payment-proof')
      if (header === undefined || incoming.target.length > longestTarget) return
      if (count >= mostAdmissions) clear()
      const ofProof = kept.get(header) ?? new Map()
      kept.set(header, ofProof)
      const { method, target } = incoming
      if (!ofProof.has(target)) count += 1
      const until = clock.monotonic() + keptMs
      const receipts = createReceiptCache()
      ofProof.set(target, { proof, admission, receipts, until, method, origin: incoming.origin() })
    },
    clear,
  }
}

function isReusable({ sig }: Proof, { isRepeatable, grant, allowance }: Admission): boolean {
  if (!isRepeatable) return false
  // No later step checks the age of a window's signature.
  return allowance.unit === 'second' ? grant === undefined && sig === undefined : isRepeated(allowance)
}

function isRepeated(allowance: Allowance): boolean {
  return allowance.unit === 'second' || (allowance.unit === 'request' && !isOneRequest(allowance))
}
