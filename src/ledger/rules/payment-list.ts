/** Builds the items of the payment list, from registered payments and from observed ones. Both databases use it. */
import type { Unit } from '../../core/payment/allowance.ts'
import { findMissing, type Positions } from '../../core/payment/byte-ranges.ts'
import type { PaymentFault, PaymentListItem } from '../../core/payment/history.ts'
import type { Sighting } from '../../core/ports/journal.ts'
import type { PaymentRecord } from '../../core/ports/ledger.ts'
import type { PaymentListMark, PaymentListQuery } from '../../core/ports/reports.ts'
import type { Finality, Tally } from './grants.ts'

/** The fields of a registered payment that the list shows. */
export interface Registered
  extends Pick<
      PaymentRecord,
      | 'tx'
      | 'request'
      | 'payer'
      | 'recipient'
      | 'endpoint'
      | 'token'
      | 'received'
      | 'splits'
      | 'isCollected'
      | 'worth'
      | 'allowance'
      | 'paidAt'
    >,
    Pick<Tally, 'used' | 'deliveries' | 'positions'> {
  readonly late: boolean
  readonly finality: Finality
}

export function listPayment(payment: Registered): PaymentListItem {
  const { tx, request, payer, recipient, endpoint, token, received, worth, paidAt, late, finality } = payment
  const { splits, isCollected } = payment
  const state = finality === 'reverted' ? 'reverted' : late ? 'late' : finality
  return {
    tx,
    at: paidAt,
    request,
    payer,
    recipient,
    endpoint,
    token,
    units: received,
    ...(splits && { splits }),
    ...(isCollected && { isCollected }),
    worth,
    status: state === 'confirmed' || state === 'finalized' ? 'confirmed' : 'expired',
    state,
    delivery: deliveryOf(payment),
  }
}

/** The item of a payment that is not claimed yet. `isSecond`: another payment has paid for its requestId in full. */
export function listObservation(sighting: Sighting, isSecond: boolean, now: number): PaymentListItem {
  const { tx, request, payer, recipient, endpoint, token, received, paidAt, claimableUntil } = sighting
  const status = now > claimableUntil ? 'expired' : 'pending'
  const what = { tx, at: paidAt, request, payer, recipient, endpoint, token, units: received, worth: undefined }
  return { ...what, status, state: 'unclaimed', fault: findFault(sighting, isSecond), delivery: 'none' }
}

function findFault(sighting: Sighting, isSecond: boolean): PaymentFault | undefined {
  const { request, slot, received, required, paidAt, payableUntil } = sighting
  if (slot === 0) return 'not_on_chain'
  if (required !== undefined && received < required) return 'underpaid'
  if (payableUntil > 0 && paidAt > payableUntil) return 'late'
  const isMore = required !== undefined && received > required
  return request !== '' && (isSecond || isMore) ? 'surplus' : undefined
}

function deliveryOf({ allowance, late, used, deliveries, positions }: Registered): PaymentListItem['delivery'] {
  if (late) return 'none'
  if (isDelivered(allowance.unit, allowance.amount, used, positions)) return 'all'
  return used > 0n || deliveries > 0n || positions.length > 0 ? 'some' : 'none'
}

/** A window is used by time, so it counts as delivered. */
function isDelivered(unit: Unit, amount: bigint, used: bigint, positions: Positions): boolean {
  if (unit === 'file') return findMissing(positions, amount) === 0n
  return unit === 'second' || used >= amount
}

/** Merges both sorted lists and returns the first `most`. A payment in both lists was claimed in between. */
export function mergeLists(
  paid: readonly PaymentListItem[],
  seen: readonly PaymentListItem[],
  { order, most }: Pick<PaymentListQuery, 'order' | 'most'>,
): readonly PaymentListItem[] {
  if (seen.length === 0) return paid.slice(0, most)
  const direction = order === 'latest' ? -1 : 1
  const isPaid = new Set(paid.map(({ tx }) => hexOf(tx)))
  const all = [...paid, ...seen.filter(({ tx }) => !isPaid.has(hexOf(tx)))]
  return all.sort((left, right) => direction * compareMarks(left, right)).slice(0, most)
}

export function compareMarks(one: PaymentListMark, other: PaymentListMark): number {
  return one.at - other.at || Buffer.compare(one.tx, other.tx)
}

function hexOf(tx: Uint8Array): string {
  return Buffer.from(tx).toString('hex')
}
