/**
 * An independent witness of a payment's history.
 *
 * It shares no code with the ledger: it believes only the answers it is shown, and objects to the first one that would
 * let two holders have the same part, consume more than was bought, grant after the end, or refuse what was paid for.
 * Of a file it counts every position by itself.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import type { Grant, PaymentRecord, PaymentStatus, Take, Taken } from '../../src/core/ports/ledger.ts'

interface Seen {
  readonly fence: bigint
  readonly from: bigint
  amount: bigint
  /** How many bytes were used under it when it was last advanced. */
  said: bigint
  deadline: number
  state: 'held' | 'lost' | 'ended'
}

export interface Witness {
  sawTake(take: Take, taken: Taken, now: number): void
  sawRenew(fence: bigint, leaseMs: number, kept: boolean, now: number): void
  sawAdvance(fence: bigint, used: bigint, more: bigint, held: bigint | undefined, now: number): void
  sawEnd(fence: bigint, outcome: DeliveryOutcome, used: bigint, done: boolean): void
  sawStanding(standing: PaymentStatus | undefined, now: number): void
}

export function createWitness(payment: PaymentRecord): Witness {
  const { unit, amount } = payment.allowance
  const grants: Seen[] = []
  let registeredAt: number | undefined
  let [consumed, counted, free] = [0n, 0n, 0n]
  let over = false
  const places = unit === 'file' ? Array.from({ length: Number(amount) }, (_, place) => BigInt(place)) : []
  const sent = places.map(() => 0)
  const arrived = places.map(() => false)

  const alive = (now: number) => grants.filter((grant) => grant.state === 'held' && grant.deadline > now)
  const held = (now: number) => alive(now).reduce((sum, grant) => sum + grant.amount, 0n)
  const missing = () => BigInt(arrived.filter((has) => !has).length)
  const isOver = (now: number) =>
    now > payment.usableUntil ||
    (unit === 'second' && now >= (registeredAt ?? now) + Number(amount) * 1000) ||
    (unit === 'file' && sent.every((times) => times >= 3)) ||
    ((unit === 'request' || unit === 'byte') && consumed === amount) ||
    (unit === 'request' && counted >= 3n * amount)
  const find = (fence: bigint) => grants.find((grant) => grant.fence === fence && grant.state === 'held')
  const loseLapsed = (now: number, but?: Seen) => {
    for (const grant of grants) {
      if (grant !== but && grant.state === 'held' && grant.deadline <= now) grant.state = 'lost'
    }
  }
  const timesAt = (place: bigint, live: readonly Seen[]) =>
    (sent[Number(place)] ?? 0) + live.filter(({ from, amount }) => place >= from && place < from + amount).length
  /** Nobody may ever come to send a position for the fourth time. */
  const checkPlaces = () => {
    const holders = grants.filter(({ state }) => state === 'held')
    for (const place of places) ok(timesAt(place, holders) <= 3)
  }
  const partOf = (take: Take) => {
    const last = amount - 1n
    const from = (take.from ?? 0n) < last ? (take.from ?? 0n) : last
    return places.filter((place) => place >= from && place < from + take.amount)
  }

  const sawFile = (take: Take, grant: Grant | undefined, now: number) => {
    const wanted = partOf(take)
    const live = alive(now).filter(({ fence }) => fence !== grant?.fence)
    const tooOften = wanted.findIndex((place) => timesAt(place, live) >= 3)
    const [first = 0n] = wanted
    if (!grant) return equal(tooOften, 0)
    equal(grant.from, first)
    equal(grant.amount, BigInt(tooOften < 0 ? wanted.length : tooOften))
    ok(grant.amount > 0n)
    checkPlaces()
  }

  return {
    sawTake(take, taken, now) {
      if (registeredAt === undefined && !take.payment) return equal(taken.kind, 'unknown')
      if (registeredAt !== undefined && take.request !== payment.request) return equal(taken.kind, 'foreign')
      registeredAt ??= now
      over ||= isOver(now)
      if (taken.kind !== 'granted') {
        if (over) return equal(taken.kind, 'spent')
        const [first = 0n] = partOf(take)
        equal(taken.kind, unit === 'file' && timesAt(first, []) >= 3 ? 'spent' : 'busy')
        if (unit === 'file') return sawFile(take, undefined, now)
        return ok(unit !== 'second' && held(now) + consumed === amount)
      }
      const { grant, remaining } = taken
      ok(!over)
      deepEqual(grant.tx, payment.tx)
      for (const other of grants) ok(grant.fence > other.fence)
      loseLapsed(now)
      const { fence, from } = grant
      grants.push({ fence, from, amount: grant.amount, said: 0n, deadline: now + take.leaseMs, state: 'held' })
      if (unit === 'file') {
        equal(remaining, missing())
        return sawFile(take, grant, now)
      }
      equal(from, 0n)
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
    sawAdvance(fence, used, more, got, now) {
      const grant = find(fence)
      equal(got !== undefined, grant !== undefined)
      if (!grant || got === undefined) return
      consumed += usedOf(grant, used)
      grant.said = used > grant.said ? used : grant.said
      grant.amount = 0n
      loseLapsed(now, grant)
      const left = amount - consumed - held(now)
      ok(left >= 0n)
      equal(got, more < left ? more : left)
      grant.amount = got
    },
    sawEnd(fence, outcome, used, done) {
      const grant = find(fence)
      equal(done, grant !== undefined)
      if (!grant) return
      grant.state = 'ended'
      if (outcome === 'no_body') free += 1n
      if (unit === 'file') {
        const isFree = outcome === 'no_body'
        if (outcome === 'not_started' || (isFree && free < 20n)) return
        const end = grant.from + (used < grant.amount && !isFree ? used : grant.amount)
        for (let place = Number(grant.from); place < end; place += 1) {
          sent[place] = (sent[place] ?? 0) + 1
          arrived[place] ||= outcome === 'delivered'
        }
        return checkPlaces()
      }
      if (outcome === 'delivered') consumed += usedOf(grant, used)
      if (outcome === 'partial') counted += 1n
      const price = unit === 'request' ? 1n : unit === 'byte' ? 1000n : 0n
      if (outcome === 'no_body' && free >= 20n) consumed += price < grant.amount ? price : grant.amount
      ok(consumed <= amount)
    },
    sawStanding(standing, now) {
      if (registeredAt === undefined) return equal(standing?.state ?? 'late', 'late')
      const left = unit === 'file' ? missing() : amount - consumed - held(now)
      const isDivided = unit === 'request' || unit === 'byte'
      const state = over || isOver(now) ? 'spent' : isDivided && left === 0n ? 'busy' : 'open'
      equal(standing?.state, state)
      if (unit !== 'second') equal(standing?.remaining, state === 'spent' ? 0n : left)
    },
  }
}

/** What was used under a grant since it was last advanced, of what it holds. */
function usedOf({ said, amount }: Seen, used: bigint): bigint {
  if (used <= said) return 0n
  return used - said < amount ? used - said : amount
}
