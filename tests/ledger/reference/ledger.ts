/**
 * The reference ledger: plain maps, everything counted when it is asked for. The model suites compare the databases with it,
 * and the simulations run on it. It shares the pure rules of `src/ledger/rules`, and no storage.
 */
import type { Grant, Ledger, PaymentRecord, Take } from '../../../src/core/ports/ledger.ts'
import { LedgerUnavailable } from '../../../src/core/ports/ledger.ts'
import type { Clock } from '../../../src/core/runtime.ts'
import type { LedgerIdentity } from '../../../src/ledger/identity.ts'
import { becomesFinal, listEvents } from '../../../src/ledger/rules/events.ts'
import type { Holding, Lease } from '../../../src/ledger/rules/grants.ts'
import {
  advanced,
  checkAdvance,
  checkLease,
  checkRecord,
  checkTake,
  checkTx,
  checkUsed,
  isReverted,
  judgeTake,
  openAccount,
  readStatus,
  readTime,
  renewed,
  restoreRecord,
  tallyAfter,
} from '../../../src/ledger/rules/grants.ts'
import { reckoned } from '../../../src/ledger/rules/revaluation.ts'
import { checkReport, judgeReport } from '../../../src/ledger/rules/slices.ts'
import { advanceTimeline } from '../../../src/ledger/rules/timeline.ts'
import { createReferenceBooks } from './books.ts'
import { createReferenceEvents, createReferenceKeyValueStore, tell } from './events.ts'
import { createReferenceJournal } from './journal.ts'
import { createReferenceOutgoing } from './outgoing-transactions.ts'
import { createReferenceRates } from './rates.ts'
import { createReferenceRewards, ripen } from './rewards.ts'
import { createReferenceSubmissions } from './submissions.ts'
import type { ReferenceEntry } from './tables.ts'
import { createRoom, formatKey } from './tables.ts'

export interface ReferenceParts {
  readonly clock: Clock
  readonly identity?: LedgerIdentity
}

export function createReferenceLedger(parts: ReferenceParts): Ledger {
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
    journal: createReferenceJournal(room, now),
    books: createReferenceBooks(room, now),
    kv: createReferenceKeyValueStore(now),
    events: createReferenceEvents(room, now),
    rewards: createReferenceRewards(room, now),
    outgoing: createReferenceOutgoing(room, now),
    rates: createReferenceRates(now),
    submissions: createReferenceSubmissions(now),
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
      const { taken, registers, restores, lease, settles } = judgeTake(take, holdingOf(entry, time), time)
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
      entries.set(formatKey(take.tx), { ...current, account: { ...current.account, ...settles, fence }, leases })
      return taken
    },
    async renew(grant, leaseMs) {
      checkTx(grant.tx)
      checkLease(leaseMs)
      const time = now()
      const found = leaseOf(grant)
      if (!found || isReverted(found.entry.account)) return false
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
      if (!found || !held || isReverted(found.entry.account)) return undefined
      const next = advanced(held, found.lease, used, more, time)
      const leases = new Map([...live(found.entry, time), [grant.fence, next.lease] as const])
      const moved = { ...found.entry.account, used: next.used }
      const account = next.used > 0n ? { ...moved, ...advanceTimeline(moved, 'delivered', time) } : moved
      entries.set(formatKey(grant.tx), { ...found.entry, account, leases })
      return next.lease.amount
    },
    async reportSlice(grant, report) {
      checkTx(grant.tx)
      checkReport(report)
      const time = now()
      const entry = entries.get(formatKey(grant.tx))
      const ruling = judgeReport(holdingOf(entry, time), grant.fence, report, time)
      if (!entry || !ruling) return undefined
      const others = live(entry, time).filter(([fence]) => fence !== grant.fence)
      const leases = new Map([...others, ...(ruling.slice ? [[grant.fence, ruling.slice] as const] : [])])
      entries.set(formatKey(grant.tx), { ...entry, account: ruling.account, leases })
      return ruling.state
    },
    async end(grant, outcome, used) {
      checkTx(grant.tx)
      checkUsed(used)
      const time = now()
      const found = leaseOf(grant)
      if (!found) return false
      const { leases } = found.entry
      const left = new Map([...leases].filter(([fence]) => fence !== grant.fence))
      const account = { ...found.entry.account, ...tallyAfter(found.entry.account, found.lease, outcome, used) }
      const traced = { ...account, ...advanceTimeline(account, outcome, time) }
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

function opened(record: PaymentRecord, time: number, late = false): ReferenceEntry {
  return { record, account: openAccount(record, time, late), leases: new Map() }
}

/** In another block, and so with the amounts and by the rates of that. */
function restored(entry: ReferenceEntry, again: PaymentRecord, time: number): ReferenceEntry {
  const { token, required, received, finality } = again
  const account = { ...entry.account, token, required, received, finality, concludedAt: time }
  return { ...entry, record: restoreRecord(entry.record, again), account }
}

function holdingOf(entry: ReferenceEntry | undefined, time: number): Holding | undefined {
  if (!entry) return undefined
  const isSlice = ({ from }: Lease) => entry.account.allowance.unit === 'request' && from > 0n
  return {
    account: entry.account,
    live: live(entry, time).flatMap(([, lease]) => (isSlice(lease) ? [] : [lease])),
    slices: [...entry.leases].flatMap(([fence, lease]) => (isSlice(lease) ? [{ ...lease, fence }] : [])),
  }
}

function live(entry: ReferenceEntry, time: number): readonly (readonly [bigint, Lease])[] {
  return [...entry.leases].filter(([, lease]) => lease.deadline > time)
}
