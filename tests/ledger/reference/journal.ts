/** The journal of the reference ledger: what was seen on chain, up to where, and what is not final yet. */
import type { Exposure, Journal, Mark } from '../../../src/core/ports/journal.ts'
import { mostUnproven } from '../../../src/ledger/rules/observations.ts'
import { compareMarks } from '../../../src/ledger/rules/payment-list.ts'
import { concluded } from '../../../src/ledger/rules/timeline.ts'
import { tell } from './events.ts'
import { ripen } from './rewards.ts'
import type { Room } from './tables.ts'
import { formatKey } from './tables.ts'

export function createReferenceJournal(room: Room, now: () => number): Journal {
  const { entries, seen, seenAt, told } = room
  const marks = new Map<string, Mark>()
  const open = () => [...entries.values()].filter(({ account }) => account.finality === 'confirmed')
  const unclaimed = () =>
    [...seen.values()].filter(({ tx, slot }) => slot > 0 && entries.get(formatKey(tx))?.account.late !== false)
  const dropOldest = () => {
    const unproven = [...seen.values()].filter(({ slot }) => slot === 0)
    const marked = unproven.map(({ tx, paidAt }) => ({ tx, at: paidAt })).sort(compareMarks)
    for (const { tx } of marked.slice(0, Math.max(0, marked.length - mostUnproven))) seen.delete(formatKey(tx))
  }
  return {
    async mark(address) {
      now()
      return marks.get(address)
    },
    async sight(sightings, read) {
      const time = now()
      const fresh = sightings.filter((sighting) => {
        const before = seen.get(formatKey(sighting.tx))
        if (before && (before.slot > 0 || sighting.slot === 0)) return false
        seen.set(formatKey(sighting.tx), sighting)
        seenAt.set(formatKey(sighting.tx), time)
        told.delete(formatKey(sighting.tx))
        return true
      })
      if (fresh.some(({ slot }) => slot === 0)) dropOldest()
      if (read && read.mark.slot >= (marks.get(read.address)?.slot ?? 0)) marks.set(read.address, read.mark)
      return fresh
    },
    async unclaimed(most) {
      now()
      return unclaimed()
        .sort((left, right) => right.slot - left.slot)
        .slice(0, most)
    },
    async unfinal(most, fromSlot = 0) {
      now()
      const records = open().map(({ record: { tx, slot } }) => ({ tx, slot }))
      const later = records.filter(({ slot }) => slot >= fromSlot)
      return later.sort((left, right) => left.slot - right.slot).slice(0, most)
    },
    async conclude(conclusions) {
      const time = now()
      return conclusions.filter(({ tx, finality }) => {
        const entry = entries.get(formatKey(tx))
        if (entry?.account.finality !== 'confirmed') return false
        entries.set(formatKey(tx), {
          ...entry,
          account: { ...entry.account, ...concluded(entry.account, finality, time) },
        })
        tell(room, [`payment.${finality}`], tx, time)
        if (finality === 'finalized' && !entry.account.late) ripen(room, tx)
        return true
      })
    },
    async exposure() {
      now()
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
