/**
 * The rules of payables and outgoing transactions: the effect of each step on the sums of a payee and on an outgoing
 * transaction. The functions are pure, so both databases follow the same rules. A database runs each step in one
 * transaction that locks the rows it read.
 */
import { maxUnits } from '../../core/money/money.ts'
import type {
  KeptBytes,
  OutgoingTransaction,
  PayoutLine,
  PlannedTransaction,
} from '../../core/payouts/ports/outgoing.ts'
import type { Accrual, NumberedAccrual, Payee, PayeeName, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { checkTx, demand } from './grants.ts'
import { computeStart } from './totals.ts'

/** The change of the sums of a payee and of its role. */
export type Delta = Pick<Payee, 'role' | 'payee' | 'accrued' | 'owed' | 'reserved' | 'paid'>

const nothing = { accrued: 0n, owed: 0n, reserved: 0n, paid: 0n }

/** One delta per payee, in the order in which rows are locked. */
export function accruedBy(accruals: readonly Accrual[]): readonly Delta[] {
  const sums = new Map<string, Delta>()
  for (const { shares } of accruals)
    for (const { role, payee, units } of shares) {
      const before = sums.get(keyOfPayee({ role, payee })) ?? { role, payee, ...nothing }
      const after = { ...before, accrued: before.accrued + units, owed: before.owed + units }
      sums.set(keyOfPayee({ role, payee }), after)
    }
  return [...sums.values()].sort(comparePayees)
}

export function reservedBy(lines: readonly PayoutLine[]): readonly Delta[] {
  return deltasOf(lines, ({ gross }) => ({ owed: -gross, reserved: gross }))
}

export function paidBy(lines: readonly PayoutLine[]): readonly Delta[] {
  return deltasOf(lines, ({ gross, units }) => ({ reserved: -gross, paid: units }))
}

export function releasedBy(lines: readonly PayoutLine[]): readonly Delta[] {
  return deltasOf(lines, ({ gross }) => ({ owed: gross, reserved: -gross }))
}

function deltasOf(lines: readonly PayoutLine[], changeOf: (line: PayoutLine) => Partial<Delta>): readonly Delta[] {
  return lines
    .map((line) => ({ role: line.role, payee: line.payee, ...nothing, ...changeOf(line) }))
    .sort(comparePayees)
}

/** Sums by role, in the byte order of the role names. */
export function byRole(deltas: readonly Delta[]): readonly Omit<Delta, 'payee'>[] {
  const sums = new Map<string, Omit<Delta, 'payee'>>()
  for (const { payee: _, ...delta } of deltas) sums.set(delta.role, added(sums.get(delta.role), delta))
  return [...sums.values()].sort((one, other) => compareText(one.role, other.role))
}

export function added<Sums extends Omit<Delta, 'payee'>>(before: Sums | undefined, delta: Sums): Sums {
  if (!before) return delta
  return {
    ...before,
    accrued: before.accrued + delta.accrued,
    owed: before.owed + delta.owed,
    reserved: before.reserved + delta.reserved,
    paid: before.paid + delta.paid,
  }
}

/** Whether the payee is settled up to the start of the line and has no payout under way. */
export function isReady(payee: Pick<Payee, 'settledThrough' | 'reserved'> | undefined, line: PayoutLine): boolean {
  return payee !== undefined && payee.settledThrough === line.from && payee.reserved === 0n
}

/** The accruals of a line never change after they are written, so a difference is a defect of the caller. */
export function checkGross(line: PayoutLine, gross: bigint): void {
  demand(line.gross === gross, 'a line settles exactly what its accruals come to')
}

/** The number of the last share up to which the sum stays within `most`. At least the first share. */
export function computeReach(
  shares: Iterable<{ readonly number: number; readonly units: bigint }>,
  most: bigint,
): number | undefined {
  let [left, reached]: [bigint, number | undefined] = [most, undefined]
  for (const { number, units } of shares) {
    left -= units
    if (left < 0n && reached !== undefined) break
    reached = number
    if (left < 0n) break
  }
  return reached
}

/** The amount that payouts send, as the payout cap counts it. */
export function sentBy(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}

/** The stored amount of an outgoing transaction: NATIVE for a payout, the token of the payment for a refund. */
export function computeSent({ lines, refunds }: Pick<PlannedTransaction, 'lines' | 'refunds'>): bigint {
  return refunds?.units ?? sentBy(lines)
}

export function computePlanned({ id, kind, lockKey, about }: PlannedTransaction, now: number): OutgoingTransaction {
  const times = { version: 1, at: now, changedAt: now, attempts: 0, failures: 0 }
  return { id, kind, lockKey, state: 'planned', ...times, signed: undefined, slot: 0, why: '', about }
}

/** A step from a known version. Returns undefined if the version has changed, or the state does not allow the step. */
export type StateChange = (outgoing: OutgoingTransaction) => OutgoingTransaction | undefined

export function stepTo(
  outgoing: OutgoingTransaction | undefined,
  version: number,
  step: StateChange,
  now: number,
): OutgoingTransaction | undefined {
  const next = outgoing?.version === version ? step(outgoing) : undefined
  return next && { ...next, version: version + 1, changedAt: now }
}

export function signing(signed: KeptBytes, about: string | undefined): StateChange {
  return (outgoing) =>
    outgoing.state === 'planned'
      ? { ...outgoing, state: 'signed', attempts: outgoing.attempts + 1, signed, about: about ?? outgoing.about }
      : undefined
}

/** Whether signing this transaction counts against the payout budget. */
export function isCounted({ kind }: OutgoingTransaction): boolean {
  return kind === 'payout'
}

export function unsigning(why: string, hasFailed = false): StateChange {
  return (outgoing) => {
    if (outgoing.state !== 'signed') return undefined
    const failures = outgoing.failures + (hasFailed ? 1 : 0)
    return { ...outgoing, state: 'planned', why, failures, signed: erased(outgoing) }
  }
}

export function landing(slot: number, about: string | undefined): StateChange {
  return (outgoing) =>
    outgoing.state === 'signed'
      ? { ...outgoing, state: 'landed', slot, signed: erased(outgoing), about: about ?? outgoing.about }
      : undefined
}

export function dropping(why: string): StateChange {
  return (outgoing) => (outgoing.state === 'planned' ? { ...outgoing, state: 'dropped', why } : undefined)
}

function erased({ signed }: OutgoingTransaction): KeptBytes | undefined {
  return signed && { ...signed, sealed: '' }
}

/** Numbers the payments without an accrual, each once. */
export function numbered(
  last: number,
  accruals: readonly Accrual[],
  isKnown: (tx: Uint8Array) => boolean,
): readonly NumberedAccrual[] {
  const seen = new Set<string>()
  const fresh = accruals.filter(({ tx }) => {
    const name = Buffer.from(tx).toString('latin1')
    return !isKnown(tx) && !seen.has(name) && seen.add(name) !== undefined
  })
  return fresh.map((accrual, index) => ({ ...accrual, number: last + 1 + index }))
}

const spendingMs = 3_600_000

/**
 * Spending is summed by the hour, because a payer with ten payments per second makes millions of payments in a week.
 */
export function computeHour(paidAt: number): number {
  return computeStart(paidAt, spendingMs)
}

/** Splits the time after `from` and up to `to` into whole hours and the remainders at both ends. */
export function spendingSpan(from: number, to: number) {
  const [first, last] = [computeHour(from + spendingMs), computeHour(to + 1)]
  // Each pair is the first time included and the first time excluded.
  if (first >= last) return { hours: [0, 0], ends: [from + 1, to + 1, 0, 0] } as const
  return { hours: [first, last], ends: [from + 1, first, last, to + 1] } as const
}

/** The payee as shown: the reason for parking is dropped once the parking time is over. */
export function shownPayee(payee: Payee, now: number): Payee {
  return payee.parkedUntil > now ? payee : { ...payee, why: '', parkedUntil: 0 }
}

export function keyOfPayee({ role, payee }: PayeeName): string {
  return `${role} ${payee}`
}

export function comparePayees(one: PayeeName, other: PayeeName): number {
  return compareText(one.role, other.role) || compareText(one.payee, other.payee)
}

/** Compares text by its bytes, as the databases do. */
export function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

export function emptySum(role: RoleSum['role']): RoleSum {
  return { role, payees: 0, ...nothing }
}

export function checkAccruals(accruals: readonly Accrual[]): void {
  for (const { tx, shares, whole, why, units, spent, worth, rate, at, paidAt } of accruals) {
    checkTx(tx)
    demand([at, paidAt].every(Number.isSafeInteger), 'times are whole numbers')
    demand(
      [whole, units, spent, worth, rate].every((value) => value >= 0n),
      'money is not negative',
    )
    const places = shares.map((share) => (share.role === 'split' ? keyOfPayee(share) : share.role))
    demand(new Set(places).size === shares.length, 'a payment has one share for each role and each split')
    demand(
      shares.every((share) => share.units > 0n && share.units <= maxUnits),
      'a share is from 1 to 2^64 - 1',
    )
    demand(shares.reduce((sum, share) => sum + share.units, 0n) <= whole, 'no more is shared than there is')
    demand(why === '' || shares.length === 0, 'where nobody earns there are no shares')
  }
}

export function checkPlan({ id, kind, lockKey, lines, voids, coversUse, refunds }: PlannedTransaction): void {
  demand(id !== '', 'an outgoing transaction has a name')
  demand(lines.length === 0 || kind === 'payout', 'only payouts have lines')
  demand(lockKey !== '' || kind !== 'refund', 'a refund has a lock key, so that it is the only one')
  demand(voids === undefined || kind === 'refund', 'only a refund makes a payment void')
  if (voids) checkTx(voids)
  demand(!coversUse || voids !== undefined, 'a refund of a used payment makes it void')
  demand(refunds === undefined || kind === 'refund', 'only a refund sends a payment back')
  if (refunds) {
    checkTx(refunds.tx)
    demand(refunds.units > 0n && refunds.units <= maxUnits, 'a refund sends something back')
  }
  demand(new Set(lines.map(keyOfPayee)).size === lines.length, 'a payout has one line for each payee')
  for (const { from, through, gross, units, opening } of lines) {
    demand([from, through].every(Number.isSafeInteger) && from >= 0 && from < through, 'a line settles accruals')
    demand(
      gross > 0n && units >= 0n && opening >= 0n && units + opening <= gross,
      'a line sends no more than it settles',
    )
  }
}
