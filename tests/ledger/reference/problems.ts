/** What somebody has to look after in the reference ledger, and the course of one payment. */
import type { History } from '../../../src/core/payment/history.ts'
import type { Sighting } from '../../../src/core/ports/journal.ts'
import type { Problem } from '../../../src/core/ports/reports.ts'
import { compareMarks, listObservation, listPayment } from '../../../src/ledger/rules/payment-list.ts'
import type { RegisteredKind, SeenKind } from '../../../src/ledger/rules/problems.ts'
import { claimingMs, readProblem } from '../../../src/ledger/rules/problems.ts'
import { isCounted } from '../../../src/ledger/rules/totals.ts'
import type { ReferenceEntry, Room } from './tables.ts'
import { formatKey } from './tables.ts'

export function problemsIn(room: Room, now: number): readonly Problem[] {
  const { entries, seen } = room
  const registered = [...entries.values()].flatMap((entry): readonly Problem[] => {
    const kind = kindOf(entry, now)
    const { required, usableUntil } = entry.record
    const payment = listPayment({ ...entry.record, ...entry.account })
    return kind ? [{ kind, payment, required, until: usableUntil }] : []
  })
  const open = [...seen.values()].filter(({ tx, slot }) => slot > 0 && !entries.has(formatKey(tx)))
  const unclaimed = open.flatMap((sighting) => {
    const kind = kindOfSeen(sighting, isSecondIn(room, sighting), now)
    return kind ? [readProblem(sighting, kind, now)] : []
  })
  return [...registered, ...unclaimed]
}

function kindOfSeen(sighting: Sighting, isSecond: boolean, now: number): SeenKind | undefined {
  const { request, received, required, paidAt, payableUntil } = sighting
  if (request === '') return 'unmatched'
  if (required !== undefined && received < required) return 'underpaid'
  if (payableUntil > 0 && paidAt > payableUntil) return 'late'
  if (isSecond || (required !== undefined && received > required)) return 'surplus'
  return paidAt <= now - claimingMs ? 'unclaimed' : undefined
}

/** Another payment has paid for the same requestId in full: one with a proof, or an earlier one on chain. */
export function isSecondIn({ entries, seen }: Room, sighting: Sighting): boolean {
  const isSame = ({ request }: { readonly request: string }) => request === sighting.request
  const others = [...seen.values()].filter((one) => isSame(one) && one.slot > 0 && !entries.has(formatKey(one.tx)))
  return (
    [...entries.values()].some(({ record, account }) => isSame(record) && isCounted(account)) ||
    isPreceded(sighting, others)
  )
}

function kindOf({ record, account, leases }: ReferenceEntry, now: number): RegisteredKind | undefined {
  if (account.finality === 'reverted') return 'reverted'
  if (account.refundedAt !== undefined) return undefined
  if (account.late) return 'late'
  const isHeld = [...leases.values()].some(({ deadline }) => deadline > now)
  if (account.undeliveredAt !== undefined) return isHeld ? undefined : 'undelivered'
  return record.received > record.required ? 'surplus' : undefined
}

/** Somebody has paid for the same requestId in full before. */
function isPreceded({ tx, paidAt }: Sighting, others: readonly Sighting[]): boolean {
  const isEarlier = (other: Sighting): boolean =>
    compareMarks({ at: other.paidAt, tx: other.tx }, { at: paidAt, tx }) < 0
  const isFull = ({ received, required }: Sighting): boolean => required === undefined || received >= required
  return others.some((other) => isEarlier(other) && isFull(other))
}

export function historyIn(room: Room, tx: Uint8Array, now: number): History | undefined {
  const { entries, seen, seenAt } = room
  const [entry, sighting] = [entries.get(formatKey(tx)), seen.get(formatKey(tx))]
  const isShown = sighting !== undefined && sighting.slot > 0
  const shown = { isShown: isShown || entry !== undefined, seenAt: isShown ? seenAt.get(formatKey(tx)) : undefined }
  if (entry) {
    const { registeredAt, deliveredAt, deliveredLast, undeliveredAt, concludedAt, refundedAt } = entry.account
    const delivery = { registeredAt, deliveredAt, deliveredLast, undeliveredAt }
    const times = { ...delivery, concludedAt, refundedAt, claimableUntil: undefined }
    const payment = listPayment({ ...entry.record, ...entry.account })
    return { payment, required: entry.record.required, ...shown, ...times }
  }
  if (!sighting) return undefined
  const { required, claimableUntil } = sighting
  return {
    payment: listObservation(sighting, isSecondIn(room, sighting), now),
    required,
    ...shown,
    ...nothing,
    claimableUntil,
  }
}

const nothing = {
  registeredAt: undefined,
  deliveredAt: undefined,
  deliveredLast: undefined,
  undeliveredAt: undefined,
  concludedAt: undefined,
  refundedAt: undefined,
}
