/**
 * The events that follow from the changes of a payment, and the rules for expired payments. Both databases use them.
 */
import type { OutgoingTransaction } from '../../core/payouts/ports/outgoing.ts'
import type { LedgerEvent, LedgerEventKind } from '../../core/ports/outbox.ts'
import { parseText } from '../stored-text.ts'
import type { Ruling } from './grants.ts'
import { dayMs, hourMs } from './totals.ts'

type Written = { readonly [Part in 'registers' | 'restores']: Ruling[Part] | undefined }

/** A payment that is final at its registration produces both events at once. */
export function listEvents({ registers, restores }: Written): readonly LedgerEventKind[] {
  if (restores) return ['payment.finalized']
  if (!registers) return []
  return becomesFinal({ registers, restores }) ? ['payment.confirmed', 'payment.finalized'] : ['payment.confirmed']
}

/** Whether this step makes the payment final. No conclusion follows then. */
export function becomesFinal({ registers, restores }: Written): boolean {
  return restores !== undefined || registers?.finality === 'finalized'
}

/** The event for an outgoing transaction that has landed. */
export function createLandingEvent({ id, kind }: Pick<OutgoingTransaction, 'id' | 'kind'>) {
  const kinds = { payout: 'reward.paid', conversion: 'settlement.converted', refund: 'refund.sent' } as const
  return { kind: kinds[kind], tx: new TextEncoder().encode(id) }
}

/** A payment in time may be registered this long after its deadline, because a commit takes time and clocks differ. */
export const settlingMs = 10_000
/** A response that began in time may continue. For at most this time, later expired payments are not reported. */
const longestHoldMs = hourMs
/** The retention of delivered events. */
export const keptMs = 30 * dayMs
/** The number of old events, values or rates that are deleted at once. */
export const clearedAtOnce = 10

/** A payment that expired without a delivery. */
export interface Lapsed {
  readonly tx: Uint8Array
  readonly usableUntil: number
  /** Whether a response is still running. */
  readonly isHeld: boolean
}

/**
 * Selects the expired payments to report, in the order of their deadlines. `mark` is the end of the previous selection.
 * Payments with the same deadline stay together, so the result may contain more than `most`.
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
  if (last && ready.length > most)
    return { told: ready.filter(({ usableUntil }) => usableUntil <= last.usableUntil), mark: last.usableUntil }
  return { told: ready, mark: waited ? waited.usableUntil - 1 : until }
}

/** The row in the databases. */
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
