/** Which notices follow from what becomes of a payment, and when one has run out: the same in every store. */
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import type { LedgerEvent, LedgerEventKind } from '../../core/ports/outbox.ts'
import { parseText } from '../stored-text.ts'
import type { Ruling } from './grants.ts'
import { dayMs, hourMs } from './totals.ts'

type Written = { readonly [Part in 'registers' | 'restores']: Ruling[Part] | undefined }

/** Of one that is final when it is registered both are told at once. */
export function listEvents({ registers, restores }: Written): readonly LedgerEventKind[] {
  if (restores) return ['payment.finalized']
  if (!registers) return []
  return becomesFinal({ registers, restores }) ? ['payment.confirmed', 'payment.finalized'] : ['payment.confirmed']
}

/** One that is final with this very step: it will not be concluded any more. */
export function becomesFinal({ registers, restores }: Written): boolean {
  return restores !== undefined || registers?.finality === 'finalized'
}

/** What is told when something went out and has landed for good, and of which. */
export function createLandingEvent({ id, kind }: Pick<OutgoingTransaction, 'id' | 'kind'>) {
  const kinds = { payout: 'reward.paid', conversion: 'settlement.converted', refund: 'refund.sent' } as const
  return { kind: kinds[kind], tx: new TextEncoder().encode(id) }
}

/** So long after its end a payment may still be registered that came in time: its commit takes a while, and clocks differ. */
export const settlingMs = 10_000
/** A response that began in time may go on; for so long nothing is told of payments that ran out after this one. */
const longestHoldMs = hourMs
/** How long a notice is kept that was told. */
export const keptMs = 30 * dayMs
/** How many old ones are cleared away at a time. */
export const clearedAtOnce = 10

/** A payment that ran out with nothing delivered. */
export interface Lapsed {
  readonly tx: Uint8Array
  readonly usableUntil: number
  /** A response is still under way. */
  readonly isHeld: boolean
}

/**
 * Chooses those to be told of, out of all that ran out up to a time, in the order of their ends. `mark` is up to where that
 * was done: it goes on from there. Those with the same end go together, so it may be more than `most`.
 */
export function chooseLapsed(
  lapsed: readonly Lapsed[],
  until: number,
  most: number,
  now: number,
): { readonly told: readonly Lapsed[]; readonly mark: number } {
  const waited = lapsed.find(({ isHeld, usableUntil }) => isHeld && usableUntil > now - longestHoldMs)
  const ready = lapsed.filter(({ isHeld, usableUntil }) => !isHeld && (!waited || usableUntil < waited.usableUntil))
  const last = ready[most - 1]
  if (last && ready.length > most) {
    return { told: ready.filter(({ usableUntil }) => usableUntil <= last.usableUntil), mark: last.usableUntil }
  }
  return { told: ready, mark: waited ? waited.usableUntil - 1 : until }
}

/** As the databases keep it. */
export interface EventRow {
  readonly id: string
  readonly kind: LedgerEventKind
  readonly target: string
  readonly tx: Uint8Array
  readonly at: number | string
  readonly attempts: number | string
  readonly state: LedgerEvent['state']
  readonly why: string
}

export const eventColumns = 'id, kind, target, tx, at, attempts, state, why'

export function readEvent({ tx, at, attempts, why, ...row }: EventRow): LedgerEvent {
  const { id, kind, target, state } = row
  const numbers = { at: Number(at), attempts: Number(attempts) }
  return { id, kind, target, tx: new Uint8Array(tx), ...numbers, state, why: parseText(why) }
}
