/**
 * Windows that are open: who asks again for the same within a second, with the same proof, is let in by what was found
 * out then. Nothing is held of a window and nothing written down, so all that could have changed is that it ended, which
 * is looked at every time, or that the chain took its payment back, which is heard at once here and elsewhere a second later.
 */
import type { Incoming } from '../../core/encoding/http.ts'
import type { Proof } from '../../core/protocol/proof.ts'
import type { Clock } from '../../core/runtime.ts'
import type { Admission } from '../claim/admit.ts'
import type { RouteConfig } from '../config/config.ts'
import type { ReceiptCache } from './receipt.ts'
import { createReceiptCache } from './receipt.ts'

export interface OpenWindow {
  readonly proof: Proof
  readonly admission: Admission
  /** The same for all answers of this second. */
  readonly receipts: ReceiptCache
}

export interface OpenWindows {
  find(incoming: Incoming): OpenWindow | undefined
  /** Remembers an admission, if it is one that may be used again. */
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

export function createOpenWindows(clock: Clock, { bind, pricing }: Pick<RouteConfig, 'bind' | 'pricing'>): OpenWindows {
  // Where nothing is sold by time, or more than method and address counts, there is nothing to remember.
  const { per } = pricing
  const isUsed = per.kind === 'allowance' && per.allowance.unit === 'second' && typeof bind !== 'object'
  // By proof, and then by the address that was asked for with it: the last of each.
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
      // The proof, the address and these are all that was looked at.
      if (!window || window.method !== incoming.method || window.origin !== incoming.origin()) return undefined
      return clock.monotonic() < window.until && clock.now() < window.admission.usableUntil ? window : undefined
    },
    keep: (incoming, proof, admission) => {
      // A signature is good for a time of its own, which would have to be looked at again.
      const isPlain = proof.claim !== undefined && proof.sig === undefined
      if (!isUsed || !isPlain || admission.grant || admission.allowance.unit !== 'second') return
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
