/** The store under simulation, and two that are broken on purpose, to prove that the simulation would notice. */
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { Clock } from '../../src/core/runtime.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import type { Schedule } from './schedule.ts'

export type CreateStore = (schedule: Schedule) => Ledger

const clockOf = ({ now }: Schedule): Clock => ({ now, monotonic: now })

export const sound: CreateStore = (schedule) => createReferenceLedger({ clock: clockOf(schedule) })

/** Looks first and writes later: whoever looks in between sees nothing. */
export const checksThenInserts: CreateStore = (schedule) => {
  const ledger = sound(schedule)
  const stale = new Map<string, number>()
  return {
    ...ledger,
    take: async (take) => {
      const key = Buffer.from(take.tx).toString('hex')
      const standing = await ledger.peek(take.tx)
      const seen = (stale.get(key) ?? 0) + 1
      stale.set(key, seen)
      await schedule.sleep(5)
      const taken = await ledger.take(take)
      // What it saw before it waited is what it goes by.
      if (taken.kind !== 'busy' || standing?.state === 'busy') return taken
      return { kind: 'granted', grant: { tx: take.tx, fence: 1n, amount: 1n, from: 0n }, remaining: 0n }
    },
  }
}

/** Ends whatever grant there is, whoever asks. */
export const releasesWithoutFence: CreateStore = (schedule) => {
  const ledger = sound(schedule)
  const fences = new Map<string, bigint>()
  return {
    ...ledger,
    take: async (take) => {
      const taken = await ledger.take(take)
      if (taken.kind === 'granted') fences.set(Buffer.from(take.tx).toString('hex'), taken.grant.fence)
      return taken
    },
    renew: (grant, leaseMs) => ledger.renew(latest(grant), leaseMs),
    end: (grant, outcome, used) => ledger.end(latest(grant), outcome, used),
  }

  function latest(grant: Parameters<Ledger['end']>[0]): Parameters<Ledger['end']>[0] {
    return { ...grant, fence: fences.get(Buffer.from(grant.tx).toString('hex')) ?? grant.fence }
  }
}
