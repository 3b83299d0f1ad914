/** The ledger in plain memory: the reference for the others, and for tests. It forgets everything with the process. */
import type { Clock, Exposure, Grant, Journal, Ledger, Mark, PaymentRecord, Sighting, Take } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { Account, Holding, Lease } from './account.ts'
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
  renewed,
  standingOf,
  tallyAfter,
  timeOf,
} from './account.ts'

interface Entry {
  readonly record: PaymentRecord
  readonly account: Account
  readonly leases: ReadonlyMap<bigint, Lease>
}

export function createMemoryLedger(parts: { readonly clock: Clock }): Ledger {
  const entries = new Map<string, Entry>()
  let closed = false

  const now = () => {
    if (closed) throw new LedgerUnavailable('the ledger is closed')
    return timeOf(parts.clock)
  }
  const leaseOf = (grant: Grant) => {
    const entry = entries.get(keyOf(grant.tx))
    const lease = entry?.leases.get(grant.fence)
    return entry && lease && { entry, lease }
  }

  return {
    journal: createJournal(entries, now),
    async peek(tx) {
      checkTx(tx)
      const time = now()
      const held = holdingOf(entries.get(keyOf(tx)), time)
      return held && standingOf(held, time)
    },
    async take(take: Take) {
      checkTake(take)
      const time = now()
      const entry = entries.get(keyOf(take.tx))
      const { taken, registers, restores, lease } = judgeTake(take, holdingOf(entry, time), time)
      const current = registers ? opened(registers, time) : restores && entry ? restored(entry, restores) : entry
      if (!current) return taken
      if (taken.kind !== 'granted' || !lease) {
        entries.set(keyOf(take.tx), current)
        return taken
      }
      const { fence } = taken.grant
      const leases = new Map([...live(current, time), [fence, lease] as const])
      entries.set(keyOf(take.tx), { ...current, account: { ...current.account, fence }, leases })
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
      entries.set(keyOf(grant.tx), { ...found.entry, leases })
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
      const account = { ...found.entry.account, used: next.used }
      entries.set(keyOf(grant.tx), { ...found.entry, account, leases })
      return next.lease.amount
    },
    async end(grant, consequence, used) {
      checkTx(grant.tx)
      checkUsed(used)
      now()
      const found = leaseOf(grant)
      if (!found) return false
      const { account, leases } = found.entry
      const left = new Map([...leases].filter(([fence]) => fence !== grant.fence))
      const tally = tallyAfter(account, found.lease, consequence, used)
      entries.set(keyOf(grant.tx), { ...found.entry, account: { ...account, ...tally }, leases: left })
      return true
    },
    async recordLate(payment: PaymentRecord) {
      checkRecord(payment)
      const time = now()
      if (entries.has(keyOf(payment.tx))) return
      entries.set(keyOf(payment.tx), opened(payment, time, true))
    },
    async close() {
      closed = true
    },
  }
}

function createJournal(entries: Map<string, Entry>, checkOpen: () => void): Journal {
  const marks = new Map<string, Mark>()
  const seen = new Map<string, Sighting>()
  const open = () => [...entries.values()].filter(({ account }) => account.finality === 'confirmed')
  return {
    async mark(address) {
      checkOpen()
      return marks.get(address)
    },
    async sight(sightings, read) {
      checkOpen()
      const fresh = sightings.filter(({ tx }) => !seen.has(keyOf(tx)))
      for (const sighting of fresh) seen.set(keyOf(sighting.tx), sighting)
      if (read && read.mark.slot >= (marks.get(read.address)?.slot ?? 0)) marks.set(read.address, read.mark)
      return fresh
    },
    async unclaimed(most) {
      checkOpen()
      const unclaimed = [...seen.values()].filter(({ tx }) => entries.get(keyOf(tx))?.account.late !== false)
      return unclaimed.sort((left, right) => right.slot - left.slot).slice(0, most)
    },
    async unfinal(most, fromSlot = 0) {
      checkOpen()
      const records = open().map(({ record: { tx, slot } }) => ({ tx, slot }))
      const later = records.filter(({ slot }) => slot >= fromSlot)
      return later.sort((left, right) => left.slot - right.slot).slice(0, most)
    },
    async conclude(conclusions) {
      checkOpen()
      return conclusions.filter(({ tx, finality }) => {
        const entry = entries.get(keyOf(tx))
        if (entry?.account.finality !== 'confirmed') return false
        entries.set(keyOf(tx), { ...entry, account: { ...entry.account, finality } })
        return true
      })
    },
    async exposure() {
      checkOpen()
      const sums = new Map<string, Exposure>()
      for (const { record, account } of open()) {
        if (account.late) continue
        const { recipient, payer, token, received } = record
        const name = [recipient, payer, token].join(' ')
        sums.set(name, { recipient, payer, token, units: received + (sums.get(name)?.units ?? 0n) })
      }
      return [...sums.values()]
    },
  }
}

function opened(record: PaymentRecord, time: number, late = false): Entry {
  return { record, account: openAccount(record, time, late), leases: new Map() }
}

function restored(entry: Entry, { slot, paidAt, finality }: PaymentRecord): Entry {
  return { ...entry, record: { ...entry.record, slot, paidAt }, account: { ...entry.account, finality } }
}

function holdingOf(entry: Entry | undefined, time: number): Holding | undefined {
  if (!entry) return undefined
  return { account: entry.account, live: live(entry, time).map(([, lease]) => lease) }
}

function live(entry: Entry, time: number): readonly (readonly [bigint, Lease])[] {
  return [...entry.leases].filter(([, lease]) => lease.deadline > time)
}

function keyOf(tx: Uint8Array): string {
  return String.fromCharCode(...tx)
}
