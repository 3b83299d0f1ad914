/** The ledger in plain memory: the reference for the others, and for tests. It forgets everything with the process. */
import type { Grant, Ledger, PaymentRecord, Take } from '../../core/ports/ledger.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { Clock } from '../../core/runtime.ts'
import type { LedgerIdentity } from '../identity.ts'
import { becomesFinal, listEvents } from '../rules/events.ts'
import type { Holding, Lease } from '../rules/grants.ts'
import {
  advanced,
  checkAdvance,
  checkLease,
  checkRecord,
  checkTake,
  checkTx,
  checkUsed,
  judgeTake,
  openAccount,
  readStatus,
  readTime,
  renewed,
  tallyAfter,
} from '../rules/grants.ts'
import { reckoned } from '../rules/revaluation.ts'
import { advanceTimeline } from '../rules/timeline.ts'
import { createMemoryBooks } from './books.ts'
import { createMemoryEvents, createMemoryKeyValueStore, tell } from './events.ts'
import { createMemoryJournal } from './journal.ts'
import { createMemoryOutgoing } from './outgoing-transactions.ts'
import { createMemoryRates } from './rates.ts'
import { createMemoryRewards, ripen } from './rewards.ts'
import type { MemoryEntry } from './tables.ts'
import { createRoom, formatKey } from './tables.ts'

export interface MemoryParts {
  readonly clock: Clock
  readonly identity?: LedgerIdentity
}

export function createMemoryLedger(parts: MemoryParts): Ledger {
  const reportToken = parts.identity?.reportToken
  const room = createRoom(reportToken)
  const { entries } = room
  let closed = false

  const now = () => {
    if (closed) throw new LedgerUnavailable('the ledger is closed')
    return readTime(parts.clock)
  }
  /** It goes back, though nobody has claimed it. */
  const isVoided = (tx: Uint8Array): boolean => room.till.voided.has(formatKey(tx))
  const leaseOf = (grant: Grant) => {
    const entry = entries.get(formatKey(grant.tx))
    const lease = entry?.leases.get(grant.fence)
    return entry && lease && { entry, lease }
  }

  return {
    journal: createMemoryJournal(room, now),
    books: createMemoryBooks(room, now),
    kv: createMemoryKeyValueStore(now),
    events: createMemoryEvents(room, now),
    rewards: createMemoryRewards(room, now),
    outgoing: createMemoryOutgoing(room, now),
    rates: createMemoryRates(now),
    async peek(tx) {
      checkTx(tx)
      const time = now()
      const held = holdingOf(entries.get(formatKey(tx)), time)
      return held && readStatus(held, time)
    },
    async take(take: Take) {
      checkTake(take)
      const time = now()
      const entry = entries.get(formatKey(take.tx))
      const { taken, registers, restores, lease } = judgeTake(take, holdingOf(entry, time), time)
      if (!entry && registers && isVoided(take.tx)) return { kind: 'spent' }
      const current = registers
        ? opened(reckoned(registers, reportToken, room.reportToken), time)
        : restores && entry
          ? restored(entry, reckoned(restores, reportToken, room.reportToken), time)
          : entry
      if (!current) return taken
      tell(room, listEvents({ registers, restores }), take.tx, time)
      if (becomesFinal({ registers, restores })) ripen(room, take.tx)
      if (taken.kind !== 'granted' || !lease) {
        entries.set(formatKey(take.tx), current)
        return taken
      }
      const { fence } = taken.grant
      const leases = new Map([...live(current, time), [fence, lease] as const])
      entries.set(formatKey(take.tx), { ...current, account: { ...current.account, fence }, leases })
      return taken
    },
    async renew(grant, leaseMs) {
      checkTx(grant.tx)
      checkLease(leaseMs)
      const time = now()
      const found = leaseOf(grant)
      if (!found) return false
      const lease = { ...found.lease, deadline: renewed(found.lease.deadline, leaseMs, time) }
      const leases = new Map([...found.entry.leases, [grant.fence, lease] as const])
      entries.set(formatKey(grant.tx), { ...found.entry, leases })
      return true
    },
    async advance(grant, used, more) {
      checkTx(grant.tx)
      checkAdvance(used, more)
      const time = now()
      const found = leaseOf(grant)
      const held = found && holdingOf(found.entry, time)
      if (!found || !held) return undefined
      const next = advanced(held, found.lease, used, more, time)
      const leases = new Map([...live(found.entry, time), [grant.fence, next.lease] as const])
      const moved = { ...found.entry.account, used: next.used }
      const account = next.used > 0n ? { ...moved, ...advanceTimeline(moved, 'settle', time) } : moved
      entries.set(formatKey(grant.tx), { ...found.entry, account, leases })
      return next.lease.amount
    },
    async end(grant, consequence, used) {
      checkTx(grant.tx)
      checkUsed(used)
      const time = now()
      const found = leaseOf(grant)
      if (!found) return false
      const { leases } = found.entry
      const left = new Map([...leases].filter(([fence]) => fence !== grant.fence))
      const account = { ...found.entry.account, ...tallyAfter(found.entry.account, found.lease, consequence, used) }
      const traced = { ...account, ...advanceTimeline(account, consequence, time) }
      entries.set(formatKey(grant.tx), { ...found.entry, account: traced, leases: left })
      return true
    },
    async recordLate(payment: PaymentRecord) {
      checkRecord(payment)
      const time = now()
      if (entries.has(formatKey(payment.tx)) || isVoided(payment.tx)) return
      entries.set(formatKey(payment.tx), opened(reckoned(payment, reportToken, room.reportToken), time, true))
      tell(room, ['payment.expired'], payment.tx, time)
    },
    async close() {
      closed = true
    },
  }
}

function opened(record: PaymentRecord, time: number, late = false): MemoryEntry {
  return { record, account: openAccount(record, time, late), leases: new Map() }
}

/** In another block, and so by the rates of that. */
function restored(
  entry: MemoryEntry,
  { slot, paidAt, finality, worth, rates }: PaymentRecord,
  time: number,
): MemoryEntry {
  const account = { ...entry.account, finality, concludedAt: time }
  return { ...entry, record: { ...entry.record, slot, paidAt, worth, rates }, account }
}

function holdingOf(entry: MemoryEntry | undefined, time: number): Holding | undefined {
  if (!entry) return undefined
  return { account: entry.account, live: live(entry, time).map(([, lease]) => lease) }
}

function live(entry: MemoryEntry, time: number): readonly (readonly [bigint, Lease])[] {
  return [...entry.leases].filter(([, lease]) => lease.deadline > time)
}
