/** What is to be told of the reference ledger, and its shelf. */
import { randomUUID } from 'node:crypto'
import type { KeyValueStore } from '../../../src/core/ports/kv.ts'
import type { LedgerEvent, LedgerEventKind, LedgerEvents } from '../../../src/core/ports/outbox.ts'
import { chooseLapsed, keptMs, settlingMs } from '../../../src/ledger/rules/events.ts'
import { listPayment } from '../../../src/ledger/rules/payment-list.ts'
import { isCounted } from '../../../src/ledger/rules/totals.ts'
import type { Room } from './tables.ts'
import { formatKey } from './tables.ts'

/** Writes down what is to be told, once somebody listens. */
export function tell(room: Room, kinds: readonly LedgerEventKind[], tx: Uint8Array, now: number): void {
  if (room.listensSince === undefined) return
  for (const kind of kinds) {
    const id = `msg_${randomUUID().replaceAll('-', '')}`
    room.notices.set(id, { id, kind, target: '', tx, at: now, attempts: 0, state: 'waiting', why: '', due: now })
  }
}

export function createReferenceEvents(room: Room, now: () => number): LedgerEvents {
  const { entries, seen, told, notices } = room
  let mark = 0
  const change = (id: string, changes: Partial<LedgerEvent & { readonly due: number }>): boolean => {
    const notice = notices.get(id)
    if (notice) notices.set(id, { ...notice, ...changes })
    return notice !== undefined
  }
  const tried = (id: string): number => (notices.get(id)?.attempts ?? 0) + 1
  const unclaimed = (before: number) =>
    [...seen.values()]
      .filter(({ tx, claimableUntil }) => claimableUntil > 0 && claimableUntil < before && !entries.has(formatKey(tx)))
      .filter(({ tx }) => !told.has(formatKey(tx)))
      .sort((one, other) => one.claimableUntil - other.claimableUntil)
  const sweepUnclaimed = (most: number, time: number): number => {
    const expired = unclaimed(time - settlingMs).slice(0, most)
    for (const { tx } of expired) told.add(formatKey(tx))
    const real = expired.filter(({ slot, request }) => slot > 0 && request !== '')
    for (const { tx } of real) tell(room, ['payment.expired'], tx, time)
    return real.length
  }
  const sweepUndelivered = (most: number, time: number): number => {
    const until = time - settlingMs
    const lapsed = [...entries.values()]
      .filter(({ account }) => isCounted(account) && account.usableUntil > mark && account.usableUntil <= until)
      .filter(({ record, account }) => listPayment({ ...record, ...account }).delivery === 'none')
      .filter(({ account }) => account.refundedAt === undefined)
      .map(({ record: { tx }, account: { usableUntil }, leases }) => ({
        tx,
        usableUntil,
        isHeld: [...leases.values()].some(({ deadline }) => deadline > time),
      }))
    const chosen = chooseLapsed(
      lapsed.sort((one, other) => one.usableUntil - other.usableUntil),
      until,
      most,
      time,
    )
    mark = Math.max(mark, chosen.mark)
    for (const { tx } of chosen.told) tell(room, ['payment.undelivered'], tx, time)
    return chosen.told.length
  }

  return {
    async start() {
      const time = now()
      if (room.listensSince !== undefined) return
      room.listensSince = time
      mark = time - settlingMs
      for (const { tx } of unclaimed(time - settlingMs)) told.add(formatKey(tx))
    },
    async sweep(most) {
      const time = now()
      if (room.listensSince === undefined || most < 1) return 0
      const expired = sweepUnclaimed(most, time)
      return expired + (expired < most ? sweepUndelivered(most - expired, time) : 0)
    },
    async notify(kind, about) {
      tell(room, [kind], about, now())
    },
    async spread(listeners, most) {
      now()
      const fresh = [...notices.values()].filter(({ target, state }) => target === '' && state === 'waiting')
      const chosen = fresh.sort((one, other) => one.due - other.due).slice(0, most)
      for (const notice of chosen) {
        notices.delete(notice.id)
        for (const { name, events } of listeners) {
          const id = `${notice.id}_${name}`
          if (events.includes(notice.kind)) notices.set(id, { ...notice, id, target: name })
        }
      }
      return chosen.length
    },
    async take(target, most, leaseMs) {
      const time = now()
      const own = [...notices.values()].filter((notice) => notice.target === target)
      const due = own.filter((notice) => notice.state === 'waiting' && notice.due <= time)
      const taken = due.sort((one, other) => one.due - other.due).slice(0, most)
      for (const { id } of taken) change(id, { due: time + Math.ceil(leaseMs) })
      return taken.map(({ due: _, ...notice }) => notice)
    },
    async told(id) {
      const time = now()
      change(id, { state: 'told', attempts: tried(id), why: '' })
      for (const { id: old, state, at } of notices.values())
        if (state === 'told' && at < time - keptMs) notices.delete(old)
    },
    async failed(id, why, again) {
      now()
      const next =
        again === undefined ? { state: 'failed' as const } : { state: 'waiting' as const, due: Math.ceil(again) }
      if (notices.get(id)?.state === 'waiting') change(id, { ...next, why, attempts: tried(id) })
    },
    async list({ id, state, most }) {
      now()
      const own = [...notices.values()].filter(
        (notice) => (state ?? notice.state) === notice.state && (id ?? notice.id) === notice.id,
      )
      const ordered = own.sort((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1))
      return ordered.slice(0, most).map(({ due: _, ...notice }) => notice)
    },
    async resend(id) {
      return change(id, { state: 'waiting', due: now(), attempts: 0 })
    },
  }
}

export function createReferenceKeyValueStore(now: () => number): KeyValueStore {
  const things = new Map<string, { readonly value: string; readonly until: number }>()
  const find = (name: string) => {
    const thing = things.get(name)
    return thing && thing.until > now() ? thing : undefined
  }
  return {
    async put(name, value, until) {
      const time = now()
      if (find(name)) return false
      for (const [old, thing] of things) if (thing.until <= time) things.delete(old)
      things.set(name, { value, until })
      return true
    },
    async get(name) {
      now()
      return find(name)?.value
    },
    async remove(name) {
      now()
      const found = find(name)
      things.delete(name)
      return found !== undefined
    },
    async list(prefix) {
      now()
      const names = [...things.keys()].filter((name) => name.startsWith(prefix))
      return names.sort().flatMap((name) => {
        const thing = find(name)
        return thing ? [{ name, ...thing }] : []
      })
    },
  }
}
