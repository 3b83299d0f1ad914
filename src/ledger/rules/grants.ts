/**
 * The one rule of the ledger: what is left of a payment, who may take it, and what the end of a use does to it.
 *
 * It is pure, so that every store keeps the same rule and differs only in how it keeps the rows. A store runs each of
 * these functions inside one transaction: what it read may not change before what was decided is written.
 */
import type { ByteSpan } from '../../core/encoding/content-range.ts'
import { largestWorth } from '../../core/money/valuation.ts'
import type { Unit } from '../../core/payment/allowance.ts'
import type { Positions } from '../../core/payment/byte-ranges.ts'
import { findMissing, isWornOut, reach, sendAgain } from '../../core/payment/byte-ranges.ts'
import type { DeliveryOutcome } from '../../core/payment/delivery.ts'
import { maxDeliveries, maxFreeUses } from '../../core/payment/delivery.ts'
import type { PaymentRecord, PaymentStatus, PaymentTerms, Take, Taken } from '../../core/ports/ledger.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { Clock } from '../../core/runtime.ts'
import type { PaymentTimeline } from './timeline.ts'
import { readTimeline } from './timeline.ts'

/** Reverted is what the chain took back: worth nothing, unless it lands again. */
export type Finality = PaymentRecord['finality'] | 'reverted'

/** What has become of an allowance so far. */
export interface Tally {
  /** Consumed for good. */
  readonly used: bigint
  /** Deliveries that carried body bytes and were given back. */
  readonly deliveries: bigint
  readonly freeUses: bigint
  /** What was sent of a file; nothing for all other units. */
  readonly positions: Positions
}

/** A payment as the rule sees it. */
export interface PaymentAccount extends PaymentTerms, Tally, PaymentTimeline {
  readonly registeredAt: number
  /** It came too late: kept for the operator, and worth nothing until a valid registration replaces it. */
  readonly late: boolean
  readonly finality: Finality
  /** The fence of the last grant. */
  readonly fence: bigint
  /** Since when it goes back to who paid it: nothing can be taken of it any more. */
  readonly refundedAt: number | undefined
}

/** An account with the grants on it that are live. */
export interface Holding {
  readonly account: PaymentAccount
  readonly live: readonly Lease[]
}

export interface Lease {
  readonly amount: bigint
  readonly deadline: number
  /** Where what is held begins: of a file the position, of bytes how many its holder had used by the last advance. */
  readonly from: bigint
}

/** What a take comes to. A grant also makes every grant void whose deadline has passed: that is how leases lapse. */
export interface Ruling {
  readonly taken: Taken
  /** To be written first: the payment is new, or replaces its late record. */
  readonly registers?: PaymentRecord
  /** To be written first: it was taken back and has landed again, in this slot. What was used of it stays used. */
  readonly restores?: PaymentRecord
  readonly lease?: Lease
}

const largestAmount = 2n ** 63n - 1n
const largestUnits = 2n ** 64n - 1n
const txBytes = 64

export function judgeTake(take: Take, held: Holding | undefined, now: number): Ruling {
  // What came too late and goes back is not registered anew.
  const known = held && (!held.account.late || held.account.refundedAt !== undefined) ? held : undefined
  if (known && known.account.request !== take.request) return { taken: { kind: 'foreign' } }
  if (known?.account.finality === 'reverted') {
    if (take.payment?.finality !== 'finalized') return { taken: { kind: 'unknown' } }
    return { restores: take.payment, ...rule(take, known, now) }
  }
  if (known) return rule(take, known, now)
  if (!take.payment) return { taken: { kind: 'unknown' } }
  const account = openAccount(take.payment, now)
  return { registers: take.payment, ...rule(take, { account, live: [] }, now) }
}

/**
 * Grants up to what was asked for: the grant says how much it is.
 *
 * A window is not divided, so its grants hold nothing of it and never stand in each other's way.
 */
function rule(take: Take, held: Holding, now: number): Ruling {
  const left = leftOf(held, now)
  if (left === undefined) return { taken: { kind: 'spent' } }
  const { unit, amount: size } = held.account.allowance
  if (unit === 'file') return ruleFile(take, held, left, size, now)
  if (left === 0n) return { taken: { kind: 'busy' } }
  const amount = unit === 'second' ? 0n : smaller(take.amount, left)
  return granted(take, held, { from: 0n, amount }, left - amount, now)
}

/** Of a file one may send what was not sent too often yet, from the wanted position on, without a gap. */
function ruleFile(take: Take, held: Holding, missing: bigint, size: bigint, now: number): Ruling {
  // A position beyond the end is for the resource to refuse.
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
 * What becomes of a grant whose holder has used some of it and wants to go on. Said twice, it means the same.
 *
 * It may get what others had and let lapse, so, as a take does, it makes every other grant void whose deadline has passed.
 */
export function advanced(held: Holding, lease: Lease, used: bigint, more: bigint, now: number) {
  const { account } = held
  // Whatever it were given of a file, nobody would have looked at how often that was sent.
  demand(account.allowance.unit === 'byte', 'only bytes are advanced')
  const consumed = account.used + usedSince(lease, used)
  const others = sumOf(held.live) - (lease.deadline > now ? lease.amount : 0n)
  const left = account.allowance.amount - consumed - others
  const from = used > lease.from ? used : lease.from
  return { used: consumed, lease: { ...lease, from, amount: left > 0n ? smaller(more, left) : 0n } }
}

/** What was used of a lease since it was last advanced, where all that was ever used under its grant is `used`. */
function usedSince({ from, amount }: Lease, used: bigint): bigint {
  return used > from ? smaller(used - from, amount) : 0n
}

/**
 * The deadline of a renewed lease. Never an earlier one: the holder of a renewal whose answer was lost still counts on
 * the old deadline.
 */
export function renewed(deadline: number, leaseMs: number, now: number): number {
  return Math.max(deadline, now + Math.ceil(leaseMs))
}

/** What a take could get at this moment, of a file what has not arrived; undefined when nothing can be taken ever again. */
function leftOf({ account, live }: Holding, now: number): bigint | undefined {
  const { unit, amount } = account.allowance
  if (now > account.usableUntil || account.refundedAt !== undefined) return undefined
  switch (unit) {
    case 'second': {
      const leftMs = account.registeredAt + Number(amount) * 1000 - now
      return leftMs > 0 ? BigInt(Math.ceil(leftMs / 1000)) : undefined
    }
    case 'file': {
      const missing = findMissing(account.positions, amount)
      // What has left our socket may be lost on its way, so it is not over when all of it has.
      return isWornOut(account.positions, amount, Number(maxDeliveries)) ? undefined : missing
    }
    case 'request':
      if (account.deliveries >= maxDeliveries * amount) return undefined
      break
    case 'byte':
      break
  }
  return account.used < amount ? amount - account.used - sumOf(live) : undefined
}

/**
 * How the end of a grant changes the tally.
 *
 * More than was leased cannot be consumed, so `used` is cut to it. The free use that reaches the limit, and each one
 * after it, costs a request or a thousand bytes, or counts as if what was leased of a file had been sent: nothing is lost
 * over a few HEADs, and nobody watches a resource for nothing.
 */
export function tallyAfter(account: PaymentAccount, lease: Lease, outcome: DeliveryOutcome, used: bigint): Tally {
  const { deliveries, freeUses, positions } = account
  const { unit } = account.allowance
  const tally = { used: account.used, deliveries, freeUses, positions }
  const sent = { from: lease.from, to: lease.from + smaller(used, lease.amount) }
  switch (outcome) {
    case 'delivered':
      return unit === 'file'
        ? { ...tally, positions: sendAgain(positions, sent, true) }
        : { ...tally, used: account.used + usedSince(lease, used) }
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

/** What a free use beyond the limit consumes. */
const freeCosts: Readonly<Record<Unit, bigint>> = { request: 1n, byte: 1_000n, second: 0n, file: 0n }

export function readStatus(held: Holding, now: number): PaymentStatus {
  const { request, payer, scope, token, received, late, finality, allowance, usableUntil } = held.account
  const worthless = late ? 'late' : finality === 'reverted' ? 'reverted' : undefined
  const left = worthless ? undefined : leftOf(held, now)
  // A window ends with its seconds.
  const end = allowance.unit === 'second' ? held.account.registeredAt + Number(allowance.amount) * 1000 : usableUntil
  const isHeld = left === 0n && allowance.unit !== 'file'
  const state = worthless ?? (left === undefined ? 'spent' : isHeld ? 'busy' : 'open')
  return {
    request,
    payer,
    scope,
    token,
    received,
    state,
    allowance,
    remaining: left ?? 0n,
    usableUntil: Math.min(end, usableUntil),
  }
}

export function openAccount(payment: PaymentRecord, now: number, late = false): PaymentAccount {
  const { request, payer, scope, token, received, allowance, usableUntil, finality } = payment
  const unused = { used: 0n, deliveries: 0n, freeUses: 0n, positions: [], fence: 0n, refundedAt: undefined }
  const fresh = { registeredAt: now, late, ...unused }
  const trace = readTimeline(payment, now)
  return { request, payer, scope, token, received, allowance, usableUntil, finality, ...fresh, ...trace }
}

/** The ledger's time, in whole milliseconds. Without one no lease can be judged, so there is no answer either. */
export function readTime(clock: Clock): number {
  const now = Math.floor(clock.now())
  if (!Number.isSafeInteger(now)) throw new LedgerUnavailable('the clock does not know the time')
  return now
}

/** Throws on what only a broken program asks for, before any store is touched. */
export function checkTake(take: Take): void {
  checkTx(take.tx)
  checkLease(take.leaseMs)
  demand(take.amount >= 1n, 'a take asks for at least 1')
  demand((take.from ?? 0n) >= 0n, 'a position is not negative')
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

function sumOf(leases: readonly Lease[]): bigint {
  return leases.reduce((sum, { amount }) => sum + amount, 0n)
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new RangeError(`Ledger: ${rule}.`)
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}
