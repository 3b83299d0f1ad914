/**
 * Windows that are open: who asks again for the same within a second, with the same proof, is let in by what was found
 * out then. Nothing is held of a window and nothing written down, so all that could have changed is that it ended, which
 * is looked at every time, or that the chain took its payment back, which is heard at once here and elsewhere a second later.
 */
import type { Incoming } from '../core/http.ts'
import type { Clock } from '../core/ports.ts'
import type { Proof } from '../core/proof.ts'
import type { Admission } from './admit.ts'
import type { RouteConfig } from './config.ts'
import type { PaymentFacts } from './pass.ts'

export interface OpenWindow {
  readonly proof: Proof
  readonly admission: Admission
  /** What an answer says of its payment, signed once for all answers of this second. */
  headers: Readonly<Record<string, string>> | undefined
  facts: PaymentFacts | undefined
  /** What was received, for people. */
  amount: string | undefined
}

export interface OpenWindows {
  find(incoming: Incoming): OpenWindow | undefined
  /** Remembers an admission, if it is one that may be used again. */
  keep(incoming: Incoming, proof: Proof, admission: Admission): void
  clear(): void
}

const keptMs = 1_000
const mostWindows = 1_024
const longestTarget = 512

export function createOpenWindows(clock: Clock, { bind, pricing }: Pick<RouteConfig, 'bind' | 'pricing'>): OpenWindows {
  // Where nothing is sold by time, or more than method and address counts, there is nothing to remember.
  const { per } = pricing
  const isUsed = per.kind === 'allowance' && per.allowance.unit === 'second' && typeof bind !== 'object'
  const windows = new Map<string, OpenWindow & { readonly until: number }>()
  /** Everything that was looked at, besides the time. */
  const nameOf = (incoming: Incoming): string | undefined => {
    const header = incoming.header('payment-proof')
    if (header === undefined || incoming.target.length > longestTarget) return undefined
    // The origin is the client's word, in which anything may stand but the end of a line.
    return [incoming.method, incoming.origin(), incoming.target, header].join('\n')
  }
  return {
    find: (incoming) => {
      if (windows.size === 0) return undefined
      const name = nameOf(incoming)
      const window = name === undefined ? undefined : windows.get(name)
      if (!window) return undefined
      return clock.monotonic() < window.until && clock.now() < window.admission.usableUntil ? window : undefined
    },
    keep: (incoming, proof, admission) => {
      // A signature is good for a time of its own, which would have to be looked at again.
      const isPlain = proof.claim !== undefined && proof.sig === undefined
      if (!isUsed || !isPlain || admission.grant || admission.allowance.unit !== 'second') return
      const name = nameOf(incoming)
      if (name === undefined) return
      if (windows.size >= mostWindows) windows.clear()
      windows.set(name, {
        proof,
        admission,
        headers: undefined,
        facts: undefined,
        amount: undefined,
        until: clock.monotonic() + keptMs,
      })
    },
    clear: () => windows.clear(),
  }
}
