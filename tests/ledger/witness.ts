/**
 * An independent witness of a payment's history.
 *
 * It shares no code with the ledger: it believes only the answers it is shown, and objects to the first one that would
 * let two holders have the same part, consume more than was bought, grant after the end, or refuse what was paid for.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Consequence } from '../../src/core/delivery.ts'
import type { PaymentRecord, Standing, Take, Taken } from '../../src/core/ports.ts'

interface Seen {
  readonly fence: bigint
  readonly amount: bigint
  deadline: number
  state: 'held' | 'lost' | 'ended'
}

export interface Witness {
  sawTake(take: Take, taken: Taken, now: number): void
  sawRenew(fence: bigint, leaseMs: number, kept: boolean, now: number): void
  sawEnd(fence: bigint, consequence: Consequence, used: bigint, done: boolean): void
  sawStanding(standing: Standing | undefined, now: number): void
}

export function createWitness(payment: PaymentRecord): Witness {
  const { unit, amount } = payment.allowance
  const grants: Seen[] = []
  let registeredAt: number | undefined
  let [consumed, counted, free] = [0n, 0n, 0n]
  let over = false

  const held = (now: number) =>
    grants
      .filter((grant) => grant.state === 'held' && grant.deadline > now)
      .reduce((sum, grant) => sum + grant.amount, 0n)
  const isOver = (now: number) =>
    now > payment.usableUntil ||
    (unit === 'second' && now >= (registeredAt ?? now) + Number(amount) * 1000) ||
    (unit !== 'second' && consumed === amount) ||
    (unit === 'request' && counted >= 3n * amount)
  const find = (fence: bigint) => grants.find((grant) => grant.fence === fence && grant.state === 'held')

  return {
    sawTake(take, taken, now) {
      if (registeredAt === undefined && !take.payment) return equal(taken.kind, 'unknown')
      if (registeredAt !== undefined && take.request !== payment.request) return equal(taken.kind, 'foreign')
      registeredAt ??= now
      over ||= isOver(now)
      if (taken.kind !== 'granted') {
        equal(taken.kind, over ? 'spent' : 'busy')
        if (!over) ok(unit !== 'second' && held(now) + consumed === amount)
        return
      }
      const { grant, remaining } = taken
      ok(!over)
      deepEqual(grant.tx, payment.tx)
      for (const other of grants) {
        ok(grant.fence > other.fence)
        if (other.state === 'held' && other.deadline <= now) other.state = 'lost'
      }
      grants.push({ fence: grant.fence, amount: grant.amount, deadline: now + take.leaseMs, state: 'held' })
      if (unit === 'second') return equal(grant.amount, 0n)
      ok(grant.amount > 0n && grant.amount <= take.amount)
      equal(held(now) + consumed + remaining, amount)
      ok(remaining >= 0n && (remaining === 0n || grant.amount === take.amount))
    },
    sawRenew(fence, leaseMs, kept, now) {
      const grant = find(fence)
      equal(kept, grant !== undefined)
      if (grant) grant.deadline = Math.max(grant.deadline, now + leaseMs)
    },
    sawEnd(fence, consequence, used, done) {
      const grant = find(fence)
      equal(done, grant !== undefined)
      if (!grant) return
      grant.state = 'ended'
      if (consequence === 'settle') consumed += used > grant.amount ? grant.amount : used
      if (consequence === 'count') counted += 1n
      if (consequence === 'free') free += 1n
      const price = unit === 'request' ? 1n : unit === 'byte' ? 1000n : 0n
      if (consequence === 'free' && free >= 20n) consumed += price < grant.amount ? price : grant.amount
      ok(consumed <= amount)
    },
    sawStanding(standing, now) {
      if (registeredAt === undefined) return equal(standing?.state ?? 'late', 'late')
      const left = amount - consumed - held(now)
      const state = over || isOver(now) ? 'spent' : unit !== 'second' && left === 0n ? 'busy' : 'open'
      equal(standing?.state, state)
      if (unit !== 'second') equal(standing?.remaining, state === 'spent' ? 0n : left)
    },
  }
}
