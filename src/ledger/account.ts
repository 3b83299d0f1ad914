/**
 * The one rule of the ledger: what is left of a payment, who may take it, and what the end of a use does to it.
 *
 * It is pure, so that every store keeps the same rule and differs only in how it keeps the rows. A store runs each of
 * these functions inside one transaction: what it read may not change before what was decided is written.
 */
import type { Allowance } from '../core/allowance.ts'
import type { Consequence } from '../core/delivery.ts'
import { maxDeliveries, maxFreeUses } from '../core/delivery.ts'
import type { TokenCode } from '../core/network.ts'
import type { Clock, PaymentRecord, Standing, Take, Taken } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'

/** Reverted is what the chain took back: worth nothing, unless it lands again. */
export type Finality = PaymentRecord['finality'] | 'reverted'

/** What has become of an allowance so far. */
export interface Tally {
  /** Consumed for good. */
  readonly used: bigint
  /** Deliveries that carried body bytes and were given back. */
  readonly deliveries: bigint
  readonly freeUses: bigint
}

/** A payment as the rule sees it. */
export interface Account extends Tally {
  readonly request: string
  readonly payer: string
  readonly scope: string
  readonly token: TokenCode
  readonly received: bigint
  readonly allowance: Allowance
  readonly usableUntil: number
  readonly registeredAt: number
  /** It came too late: kept for the operator, and worth nothing until a valid registration replaces it. */
  readonly late: boolean
  readonly finality: Finality
  /** The fence of the last grant. */
  readonly fence: bigint
}

/** An account with what live grants hold of it. */
export interface Holding {
  readonly account: Account
  readonly leased: bigint
}

export interface Lease {
  readonly amount: bigint
  readonly deadline: number
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
  const known = held?.account.late === false ? held : undefined
  if (known && known.account.request !== take.request) return { taken: { kind: 'foreign' } }
  if (known?.account.finality === 'reverted') {
    if (take.payment?.finality !== 'finalized') return { taken: { kind: 'unknown' } }
    return { restores: take.payment, ...rule(take, known, now) }
  }
  if (known) return rule(take, known, now)
  if (!take.payment) return { taken: { kind: 'unknown' } }
  const account = openAccount(take.payment, now)
  return { registers: take.payment, ...rule(take, { account, leased: 0n }, now) }
}

/**
 * Grants up to what was asked for: the grant says how much it is.
 *
 * A window is not divided, so its grants hold nothing of it and never stand in each other's way.
 */
function rule(take: Take, held: Holding, now: number): Ruling {
  const left = leftOf(held, now)
  if (left === undefined) return { taken: { kind: 'spent' } }
  if (left === 0n) return { taken: { kind: 'busy' } }
  const most = take.amount < left ? take.amount : left
  const amount = held.account.allowance.unit === 'second' ? 0n : most
  const grant = { tx: take.tx, fence: held.account.fence + 1n, amount }
  return {
    taken: { kind: 'granted', grant, remaining: left - amount },
    lease: { amount, deadline: now + Math.ceil(take.leaseMs) },
  }
}

/**
 * The deadline of a renewed lease. Never an earlier one: the holder of a renewal whose answer was lost still counts on
 * the old deadline.
 */
export function renewed(deadline: number, leaseMs: number, now: number): number {
  return Math.max(deadline, now + Math.ceil(leaseMs))
}

/** What a take could get at this moment; undefined when nothing can be taken ever again. */
function leftOf({ account, leased }: Holding, now: number): bigint | undefined {
  const { unit, amount } = account.allowance
  if (now > account.usableUntil) return undefined
  if (unit === 'second') {
    const leftMs = account.registeredAt + Number(amount) * 1000 - now
    return leftMs > 0 ? BigInt(Math.ceil(leftMs / 1000)) : undefined
  }
  if (unit === 'request' && account.deliveries >= maxDeliveries * amount) return undefined
  // How often bytes may be sent again is decided by position, which grants do not know yet: only free uses are limited.
  if (unit === 'byte' && account.freeUses >= maxFreeUses) return undefined
  return account.used < amount ? amount - account.used - leased : undefined
}

/**
 * How the end of a grant over `leased` changes the tally.
 *
 * More than was leased cannot be consumed, so `used` is cut to it. The free use that reaches the limit, and each one
 * after it, costs one request: a bundle is not lost over a few HEADs, and nobody watches a resource for nothing.
 */
export function tallyAfter(account: Account, leased: bigint, consequence: Consequence, used: bigint): Tally {
  const { deliveries, freeUses } = account
  switch (consequence) {
    case 'settle':
      return { used: account.used + (used < leased ? used : leased), deliveries, freeUses }
    case 'count':
      return { used: account.used, deliveries: deliveries + 1n, freeUses }
    case 'free': {
      const costs = account.allowance.unit === 'request' && freeUses + 1n >= maxFreeUses
      return { used: account.used + (costs ? 1n : 0n), deliveries, freeUses: freeUses + 1n }
    }
    case 'release':
      return { used: account.used, deliveries, freeUses }
  }
}

export function standingOf(held: Holding, now: number): Standing {
  const { request, payer, scope, token, received, late, finality } = held.account
  const worthless = late ? 'late' : finality === 'reverted' ? 'reverted' : undefined
  const left = worthless ? undefined : leftOf(held, now)
  const state = worthless ?? (left === undefined ? 'spent' : left === 0n ? 'busy' : 'open')
  return { request, payer, scope, token, received, state, remaining: left ?? 0n }
}

export function openAccount(payment: PaymentRecord, now: number, late = false): Account {
  const { request, payer, scope, token, received, allowance, usableUntil, finality } = payment
  const fresh = { registeredAt: now, late, used: 0n, deliveries: 0n, freeUses: 0n, fence: 0n }
  return { request, payer, scope, token, received, allowance, usableUntil, finality, ...fresh }
}

/** The ledger's time, in whole milliseconds. Without one no lease can be judged, so there is no answer either. */
export function timeOf(clock: Clock): number {
  const now = Math.floor(clock.now())
  if (!Number.isSafeInteger(now)) throw new LedgerUnavailable('the clock does not know the time')
  return now
}

/** Throws on what only a broken program asks for, before any store is touched. */
export function checkTake(take: Take): void {
  checkTx(take.tx)
  checkLease(take.leaseMs)
  demand(take.amount >= 1n, 'a take asks for at least 1')
  if (!take.payment) return
  checkRecord(take.payment)
  demand(take.payment.request === take.request, 'a payment is registered for the request it was taken for')
  demand(sameBytes(take.payment.tx, take.tx), 'a payment is registered under its own transaction')
}

export function checkRecord(payment: PaymentRecord): void {
  const { tx, allowance, required, received, slot, paidAt, usableUntil } = payment
  checkTx(tx)
  demand(allowance.amount >= 1n && allowance.amount <= largestAmount, 'an allowance is from 1 to 2^63 - 1')
  demand(
    [required, received].every((units) => units >= 0n && units <= largestUnits),
    'money is from 0 to 2^64 - 1',
  )
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

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new RangeError(`Ledger: ${rule}.`)
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}
