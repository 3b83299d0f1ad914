/** The ledger in plain memory: the reference for the others, and for tests. It forgets everything with the process. */
import type { Clock, Grant, Ledger, PaymentRecord, Take } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { Account, Holding, Lease } from './account.ts'
import {
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
      const { taken, registers, lease } = judgeTake(take, holdingOf(entry, time), time)
      const current = registers ? { account: openAccount(registers, time), leases: new Map<bigint, Lease>() } : entry
      if (!current) return taken
      if (taken.kind !== 'granted' || !lease) {
        entries.set(keyOf(take.tx), current)
        return taken
      }
      const { fence } = taken.grant
      const leases = new Map([...live(current, time), [fence, lease] as const])
      entries.set(keyOf(take.tx), { account: { ...current.account, fence }, leases })
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
    async end(grant, consequence, used) {
      checkTx(grant.tx)
      checkUsed(used)
      now()
      const found = leaseOf(grant)
      if (!found) return false
      const { account, leases } = found.entry
      const left = new Map([...leases].filter(([fence]) => fence !== grant.fence))
      const tally = tallyAfter(account, found.lease.amount, consequence, used)
      entries.set(keyOf(grant.tx), { account: { ...account, ...tally }, leases: left })
      return true
    },
    async recordLate(payment: PaymentRecord) {
      checkRecord(payment)
      const time = now()
      if (entries.has(keyOf(payment.tx))) return
      entries.set(keyOf(payment.tx), { account: openAccount(payment, time, true), leases: new Map() })
    },
    async close() {
      closed = true
    },
  }
}

function holdingOf(entry: Entry | undefined, time: number): Holding | undefined {
  if (!entry) return undefined
  return { account: entry.account, leased: live(entry, time).reduce((sum, [, lease]) => sum + lease.amount, 0n) }
}

function live(entry: Entry, time: number): readonly (readonly [bigint, Lease])[] {
  return [...entry.leases].filter(([, lease]) => lease.deadline > time)
}

function keyOf(tx: Uint8Array): string {
  return String.fromCharCode(...tx)
}
