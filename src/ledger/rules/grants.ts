/**
 * The rules of grants: the rest of an allowance, the conditions for a grant, and the effect of its end.
 *
 * The functions are pure, so both databases follow the same rules and differ only in storage. A database runs each
 * function inside one transaction: the rows it read must not change before the result is written.
 */
import type { ByteSpan } from '../../core/http/content-range.ts'
import { largestWorth } from '../../core/money/valuation.ts'
import { sliceOfUses, type Unit } from '../../core/payment/allowance.ts'
import { findMissing, isWornOut, type Positions, reach, sendAgain } from '../../core/payment/byte-ranges.ts'
import { type DeliveryOutcome, maxDeliveries, maxFreeUses, maxReturnedSlices } from '../../core/payment/delivery.ts'
import type { PaymentRecord, PaymentStatus, PaymentTerms, Take, Taken } from '../../core/ports/ledger.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { Clock } from '../../core/runtime.ts'
import { type PaymentTimeline, readTimeline } from './timeline.ts'

/** A reverted payment is worth nothing unless it lands again. */
export type Finality = PaymentRecord['finality'] | 'reverted'

/** The used part of an allowance. */
export interface Tally {
  /** Consumed permanently. */
  readonly used: bigint
  /** Deliveries that sent body bytes and were returned to the allowance. */
  readonly deliveries: bigint
  readonly freeUses: bigint
  /** The sent byte ranges of a file. Empty for other units. */
  readonly positions: Positions
}

/** The used part of an allowance, with the allowance. The end of a grant depends on nothing else. */
export interface UsedAllowance extends Tally, Pick<PaymentTerms, 'allowance'> {}

/** The fields of a payment that the rules use. */
export interface PaymentAccount extends PaymentTerms, Tally, PaymentTimeline {
  readonly registeredAt: number
  /**
   * The payment landed too late. It is recorded for the operator, and is worth nothing until a valid registration
   * replaces it.
   */
  readonly late: boolean
  readonly finality: Finality
  /** The fence of the last grant. */
  readonly fence: bigint
  /** How often a slice of a server that died went back to the payer. */
  readonly returnedSlices: bigint
  /** The time since which the payment is being refunded. No further grant is possible. */
  readonly refundedAt: number | undefined
}

/** A payment with its live grants. */
export interface Holding {
  readonly account: PaymentAccount
  /** Of a file, each grant. For other units only the sum counts, so one lease may stand for all. */
  readonly live: readonly Lease[]
  /** The slices of a bundle, also those with a passed deadline. They are not among `live`. */
  readonly slices: readonly Slice[]
}

export interface Lease {
  readonly amount: bigint
  readonly deadline: number
  /** The start of the held part: a position in a file, or the bytes that the holder had used at the last advance. */
  readonly from: bigint
}

/** A part of a bundle that a server holds for many uses. `from` is the number of its next report. */
export interface Slice extends Lease {
  readonly fence: bigint
}

/** The result of a take. A grant also voids every grant with a passed deadline. That is how leases lapse. */
export interface Ruling {
  readonly taken: Taken
  /** Written first: the payment is new, or replaces its late record. */
  readonly registers?: PaymentRecord
  /** Written first: the payment was reverted and has landed again, in this slot. Its used part stays used. */
  readonly restores?: PaymentRecord
  readonly lease?: Lease
  /** Written with the lease: slices have lapsed. */
  readonly settles?: Pick<PaymentAccount, 'used' | 'returnedSlices'>
}

const largestAmount = 2n ** 63n - 1n
const largestUnits = 2n ** 64n - 1n
const txBytes = 64

export function judgeTake(take: Take, held: Holding | undefined, now: number): Ruling {
  // A late payment that is being refunded cannot be registered again.
  const known = held && (!held.account.late || held.account.refundedAt !== undefined) ? held : undefined
  if (known && known.account.request !== take.request) return { taken: { kind: 'foreign' } }
  if (known?.account.finality === 'reverted') {
    if (take.payment?.finality !== 'finalized') return { taken: { kind: 'unknown' } }
    return { restores: take.payment, ...rule(take, known, now) }
  }
  if (known) return rule(take, known, now)
  if (!take.payment) return { taken: { kind: 'unknown' } }
  const account = openAccount(take.payment, now)
  return { registers: take.payment, ...rule(take, { account, live: [], slices: [] }, now) }
}

/**
 * Grants at most the requested amount. The grant contains the actual amount.
 *
 * A window is not divided: its grants hold nothing and never conflict.
 */
function rule(take: Take, found: Holding, now: number): Ruling {
  const held = settleLapsed(found, now)
  const left = leftOf(held, now)
  if (left === undefined) return { taken: { kind: 'spent' } }
  const { unit, amount: size } = held.account.allowance
  if (unit === 'file') return ruleFile(take, held, left, size, now)
  if (left === 0n) return { taken: { kind: 'busy', ...(held.slices.length > 0 && { hasSlices: true }) } }
  const slice = take.isSlice && unit === 'request' ? sliceOfUses(left) : 0n
  const amount = unit === 'second' ? 0n : smaller(take.amount, left)
  const part = slice > 0n ? { from: 1n, amount: slice } : { from: 0n, amount }
  const { used, returnedSlices } = held.account
  const settles = held.slices.length < found.slices.length ? { settles: { used, returnedSlices } } : {}
  return { ...granted(take, held, part, left - part.amount + sumOf(held.slices), now), ...settles }
}

/**
 * The holding without lapsed slices. A slice goes back to the payer, but only three times per payment: its server may
 * have delivered its uses. After that, they count as used.
 */
export function settleLapsed(held: Holding, now: number): Holding {
  const slices = held.slices.filter(({ deadline }) => deadline > now)
  if (slices.length === held.slices.length) return held
  let { used, returnedSlices } = held.account
  for (const { amount } of held.slices.filter(({ deadline }) => deadline <= now).toSorted(byFence)) {
    if (returnedSlices < maxReturnedSlices) returnedSlices += 1n
    else used += amount
  }
  return { ...held, account: { ...held.account, used, returnedSlices }, slices }
}

function byFence(one: Slice, other: Slice): number {
  return one.fence < other.fence ? -1 : 1
}

/** Grants the part of a file from the wanted position up to the first byte that was sent too often. */
function ruleFile(take: Take, held: Holding, missing: bigint, size: bigint, now: number): Ruling {
  // The resource itself refuses a position beyond its end.
  const from = smaller(take.from ?? 0n, size - 1n)
  const wanted = { from, to: smaller(from + take.amount, size) }
  const to = reach(held.account.positions, held.live.map(spanOf), wanted, Number(maxDeliveries))
  if (to > from) return granted(take, held, { from, amount: to - from }, missing, now)
  const isBusy = reach(held.account.positions, [], wanted, Number(maxDeliveries)) > from
  return { taken: { kind: isBusy ? 'busy' : 'spent' } }
}

function granted(
  take: Take,
  { account }: Holding,
  part: Pick<Lease, 'from' | 'amount'>,
  remaining: bigint,
  now: number,
): Ruling {
  const grant = { tx: take.tx, fence: account.fence + 1n, ...part }
  return { taken: { kind: 'granted', grant, remaining }, lease: { ...part, deadline: now + Math.ceil(take.leaseMs) } }
}

/**
 * A running response for a reverted payment gets neither a longer lease nor more bytes. Its end is recorded, because the
 * payment can land again.
 */
export function isReverted({ finality }: Pick<PaymentAccount, 'finality'>): boolean {
  return finality === 'reverted'
}

/**
 * Updates a grant whose holder has used a part and needs more. A repeated call has the same effect.
 *
 * The grant may receive parts that other grants let lapse. So, like a take, it voids every other grant with a passed
 * deadline.
 */
export function advanced(
  { account, live }: Pick<Holding, 'live'> & { readonly account: UsedAllowance },
  lease: Lease,
  used: bigint,
  more: bigint,
  now: number,
) {
  // For a file, no rule would check how often the additional part was sent.
  demand(account.allowance.unit === 'byte', 'only bytes are advanced')
  const consumed = account.used + usedSince(lease, used)
  const others = sumOf(live) - (lease.deadline > now ? lease.amount : 0n)
  const left = account.allowance.amount - consumed - others
  const from = used > lease.from ? used : lease.from
  return { used: consumed, lease: { ...lease, from, amount: left > 0n ? smaller(more, left) : 0n } }
}

/** The part used since the last advance. `used` is the total under this grant. */
function usedSince({ from, amount }: Lease, used: bigint): bigint {
  return used > from ? smaller(used - from, amount) : 0n
}

/**
 * The deadline of a renewed lease. It never moves to an earlier time: if the response to a renewal was lost, the holder
 * still relies on the old deadline.
 */
export function renewed(deadline: number, leaseMs: number, now: number): number {
  return Math.max(deadline, now + Math.ceil(leaseMs))
}

/**
 * The amount that a take could get now; for a file, the bytes that have not arrived. Undefined if no take can succeed
 * any more.
 */
export function leftOf({ account, live, slices }: Holding, now: number): bigint | undefined {
  const { unit, amount } = account.allowance
  if (now > account.usableUntil || account.refundedAt !== undefined) return undefined
  switch (unit) {
    case 'second': {
      const leftMs = account.registeredAt + Number(amount) * 1000 - now
      return leftMs > 0 ? BigInt(Math.ceil(leftMs / 1000)) : undefined
    }
    case 'file': {
      const missing = findMissing(account.positions, amount)
      // Sent bytes may be lost on the way, so a file that was sent completely can be sent again.
      return isWornOut(account.positions, amount, Number(maxDeliveries)) ? undefined : missing
    }
    case 'request':
      if (account.deliveries >= maxDeliveries * amount) return undefined
      break
    case 'byte':
      break
  }
  return account.used < amount ? amount - account.used - sumOf(live) - sumOf(slices) : undefined
}

/**
 * The tally after the end of a grant.
 *
 * `used` is limited to the leased amount. The free use that reaches the limit, and each further one, costs one request
 * or a thousand bytes, or counts as a sent copy of the leased part of a file. A few HEAD requests cost nothing, and a
 * resource cannot be monitored for free.
 */
export function tallyAfter(account: UsedAllowance, lease: Lease, outcome: DeliveryOutcome, used: bigint): Tally {
  const { deliveries, freeUses, positions } = account
  const { unit } = account.allowance
  const tally = { used: account.used, deliveries, freeUses, positions }
  const sent = { from: lease.from, to: lease.from + smaller(used, lease.amount) }
  switch (outcome) {
    case 'delivered':
      return unit === 'file'
        ? { ...tally, positions: sendAgain(positions, sent, true) }
        : { ...tally, used: account.used + usedSince(unit === 'byte' ? lease : { ...lease, from: 0n }, used) }
    case 'partial':
      return unit === 'file'
        ? { ...tally, positions: sendAgain(positions, sent, false) }
        : { ...tally, deliveries: deliveries + 1n }
    case 'no_body': {
      const isBeyond = freeUses + 1n >= maxFreeUses
      const costs = isBeyond ? freeCosts[unit] : 0n
      return {
        ...tally,
        used: account.used + smaller(costs, lease.amount),
        freeUses: freeUses + 1n,
        ...(isBeyond && unit === 'file' && { positions: sendAgain(positions, spanOf(lease), false) }),
      }
    }
    case 'not_started':
      return tally
  }
}

/** The cost of a free use beyond the limit. */
const freeCosts: Readonly<Record<Unit, bigint>> = { request: 1n, byte: 1_000n, second: 0n, file: 0n }

export function readStatus(found: Holding, now: number): PaymentStatus {
  const held = settleLapsed(found, now)
  const { request, payer, scope, token, required, received, late, finality, allowance, usableUntil } = held.account
  const worthless = late ? 'late' : finality === 'reverted' ? 'reverted' : undefined
  const left = worthless ? undefined : leftOf(held, now)
  // A window ends after its seconds.
  const end = allowance.unit === 'second' ? held.account.registeredAt + Number(allowance.amount) * 1000 : usableUntil
  const isHeld = left === 0n && allowance.unit !== 'file'
  const state = worthless ?? (left === undefined ? 'spent' : isHeld ? 'busy' : 'open')
  return {
    request,
    payer,
    scope,
    token,
    required,
    received,
    state,
    allowance,
    remaining: left ?? 0n,
    usableUntil: Math.min(end, usableUntil),
  }
}

export function openAccount(payment: PaymentRecord, now: number, late = false): PaymentAccount {
  const { request, payer, scope, token, required, received, allowance, usableUntil, finality } = payment
  const unused = { used: 0n, deliveries: 0n, freeUses: 0n, positions: [], fence: 0n, refundedAt: undefined }
  const fresh = { registeredAt: now, late, returnedSlices: 0n, ...unused }
  const trace = readTimeline(payment, now)
  const terms = { request, payer, scope, token, required, received, allowance, usableUntil }
  return { ...terms, finality, ...fresh, ...trace }
}

/**
 * The record of a reverted payment that landed again. In another block, a program or a token fee can move other amounts.
 * The purchase stays as it was registered.
 */
export function restoreRecord(before: PaymentRecord, again: PaymentRecord): PaymentRecord {
  const { scope, recipient, allowance, usableUntil, endpoint } = before
  return { ...again, scope, recipient, allowance, usableUntil, endpoint }
}

/** The ledger's time in whole milliseconds. Throws without a valid time, because no lease could be judged. */
export function readTime(clock: Clock): number {
  const now = Math.floor(clock.now())
  if (!Number.isSafeInteger(now)) throw new LedgerUnavailable('the clock does not know the time')
  return now
}

/** Rejects arguments that only a defective program passes, before any access to the store. */
export function checkTake(take: Take): void {
  checkTx(take.tx)
  checkLease(take.leaseMs)
  demand(take.amount >= 1n, 'a take asks for at least 1')
  demand((take.from ?? 0n) >= 0n, 'a position is not negative')
  demand(!take.isSlice || take.payment === undefined, 'only a registered payment has slices')
  if (!take.payment) return
  checkRecord(take.payment)
  demand(take.payment.request === take.request, 'a payment is registered for the request it was taken for')
  demand(sameBytes(take.payment.tx, take.tx), 'a payment is registered under its own transaction')
}

export function checkRecord(payment: PaymentRecord): void {
  const { tx, allowance, required, received, slot, paidAt, usableUntil, worth } = payment
  checkTx(tx)
  demand(allowance.amount >= 1n && allowance.amount <= largestAmount, 'an allowance is from 1 to 2^63 - 1')
  demand(
    [required, received].every((units) => units >= 0n && units <= largestUnits),
    'money is from 0 to 2^64 - 1',
  )
  demand(worth === undefined || (worth >= 0n && worth <= largestWorth), 'a worth is from 0 to a trillion')
  demand([slot, paidAt, usableUntil].every(Number.isSafeInteger), 'slots and times are whole numbers')
}

export function checkTx(tx: Uint8Array): void {
  demand(tx.length === txBytes, 'a transaction is named by the 64 bytes of its signature')
}

export function checkLease(leaseMs: number): void {
  demand(leaseMs > 0 && leaseMs <= Number.MAX_SAFE_INTEGER / 2, 'a lease lasts longer than nothing, and not for ever')
}

export function checkUsed(used: bigint): void {
  demand(used >= 0n, 'what was used is not negative')
}

export function checkAdvance(used: bigint, more: bigint): void {
  checkUsed(used)
  demand(used <= largestAmount, 'nobody can have used more than 2^63 - 1')
  demand(more >= 0n, 'what more is wanted is not negative')
}

function spanOf({ from, amount }: Lease): ByteSpan {
  return { from, to: from + amount }
}

export function sumOf(leases: readonly Lease[]): bigint {
  return leases.reduce((sum, { amount }) => sum + amount, 0n)
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** Throws on a call that only a broken program makes. */
export function demand(holds: boolean, rule: string): void {
  if (!holds) throw new RangeError(`Ledger: ${rule}.`)
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}
