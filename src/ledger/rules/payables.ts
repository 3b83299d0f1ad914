/**
 * The rules of what is owed and of what goes out: what every step does to a payee's sums and to an outgoing transaction. Pure, so that all
 * stores keep the same. A store runs each step inside one transaction, while nobody else changes what it read.
 */
import { maxUnits } from '../../core/money/money.ts'
import type {
  KeptBytes,
  OutgoingTransaction,
  PayoutLine,
  PlannedTransaction,
} from '../../core/payouts/ports/outgoing.ts'
import type { Accrual, NumberedAccrual, Payee, PayeeName, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { checkTx } from './grants.ts'
import { computeStart } from './totals.ts'

/** What is added to a payee's sums, and to those of its role. */
export type Delta = Pick<Payee, 'role' | 'payee' | 'accrued' | 'owed' | 'reserved' | 'paid'>

const nothing = { accrued: 0n, owed: 0n, reserved: 0n, paid: 0n }

/** One for each payee, in the order in which rows are locked. */
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

/** By role, in the order of its text. */
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

/** Whether a payee stands where a line of a payout begins. */
export function isReady(payee: Pick<Payee, 'upto' | 'reserved'> | undefined, line: PayoutLine): boolean {
  return payee !== undefined && payee.upto === line.from && payee.reserved === 0n
}

/** The accruals of a line never change once they are written: anything else is a fault of who planned it. */
export function checkGross(line: PayoutLine, gross: bigint): void {
  demand(line.gross === gross, 'a line settles exactly what its accruals come to')
}

/** The number up to which shares come to no more than that together, given in their order; the first of them in any case. */
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

/** What payouts send, as their cap counts it. */
export function sentBy(lines: readonly PayoutLine[]): bigint {
  return lines.reduce((sum, { units }) => sum + units, 0n)
}

/** What an outgoing transaction sends, as it is kept: of a payout NATIVE, of a refund the token of its payment. */
export function computeSent({ lines, refunds }: Pick<PlannedTransaction, 'lines' | 'refunds'>): bigint {
  return refunds?.units ?? sentBy(lines)
}

export function computePlanned({ id, kind, lane, about }: PlannedTransaction, now: number): OutgoingTransaction {
  const times = { version: 1, at: now, changedAt: now, attempts: 0, failures: 0 }
  return { id, kind, lane, state: 'planned', ...times, signed: undefined, slot: 0, why: '', about }
}

/** Each step from a version that was seen; undefined when that has passed, or the step does not follow on the state. */
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

/** Whether a signing is one of those that are counted, and that a budget holds for. */
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

/** Numbers those of payments that have no accrual yet, each payment once. */
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

/** What payers spent is summed up by the hour: who pays ten times a second has millions of payments in a week. */
export function computeHour(paidAt: number): number {
  return computeStart(paidAt, spendingMs)
}

/** After a time and up to another: whole hours from one on and before another, and what is left at both ends. */
export function spendingSpan(from: number, to: number) {
  const [first, last] = [computeHour(from + spendingMs), computeHour(to + 1)]
  // Each from a time on, and before another.
  if (first >= last) return { hours: [0, 0], ends: [from + 1, to + 1, 0, 0] } as const
  return { hours: [first, last], ends: [from + 1, first, last, to + 1] } as const
}

/** As it is shown: why it was parked is over with its time. */
export function shownPayee(payee: Payee, now: number): Payee {
  return payee.parkedUntil > now ? payee : { ...payee, why: '', parkedUntil: 0 }
}

export function keyOfPayee({ role, payee }: PayeeName): string {
  return `${role} ${payee}`
}

export function comparePayees(one: PayeeName, other: PayeeName): number {
  return compareText(one.role, other.role) || compareText(one.payee, other.payee)
}

/** As databases compare text: by its bytes. */
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
    demand(new Set(shares.map(({ role }) => role)).size === shares.length, 'a payment has one share for each role')
    demand(
      shares.every((share) => share.units > 0n && share.units <= maxUnits),
      'a share is from 1 to 2^64 - 1',
    )
    demand(shares.reduce((sum, share) => sum + share.units, 0n) <= whole, 'no more is shared than there is')
    demand(why === '' || shares.length === 0, 'where nobody earns there are no shares')
  }
}

export function checkPlan({ id, kind, lane, lines, voids, refunds }: PlannedTransaction): void {
  demand(id !== '', 'an outgoing transaction has a name')
  demand(lines.length === 0 || kind === 'payout', 'only payouts have lines')
  demand(lane !== '' || kind !== 'refund', 'a refund has a lane, so that it is the only one')
  demand(voids === undefined || kind === 'refund', 'only a refund makes a payment void')
  if (voids) checkTx(voids)
  demand(refunds === undefined || kind === 'refund', 'only a refund sends a payment back')
  if (refunds) {
    checkTx(refunds.tx)
    demand(refunds.units > 0n && refunds.units <= maxUnits, 'a refund sends something back')
  }
  demand(new Set(lines.map(keyOfPayee)).size === lines.length, 'a payout has one line for each payee')
  for (const { from, upto, gross, units, opening } of lines) {
    demand([from, upto].every(Number.isSafeInteger) && from >= 0 && from < upto, 'a line settles accruals')
    demand(
      gross > 0n && units >= 0n && opening >= 0n && units + opening <= gross,
      'a line sends no more than it settles',
    )
  }
}

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new RangeError(`Ledger: ${rule}.`)
}
