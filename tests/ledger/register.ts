/**
 * A payment as a register that can be used once: what each answer of a ledger may be, if calls came one after another.
 *
 * It shares no code with the ledger. Of time it knows only that a call judged leases at some millisecond between its
 * beginning and its end: a deadline is a span, and everything that saw a lease alive or lapsed narrows it.
 */
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'

export type Asked =
  | {
      readonly act: 'take'
      readonly request: string
      /** Whether it brings the payment's record along. */
      readonly registers: boolean
      readonly amount: number
      /** Whether it wants a slice of a bundle. */
      readonly slices?: boolean
      readonly leaseMs: number
    }
  | { readonly act: 'peek' }
  | { readonly act: 'renew'; readonly fence: number; readonly leaseMs: number }
  | { readonly act: 'advance'; readonly fence: number; readonly used: number; readonly more: number }
  | {
      readonly act: 'report'
      readonly fence: number
      readonly number: number
      readonly delivered: number
      readonly partial: number
      readonly noBody: number
      readonly keeps: number
      readonly fills: boolean
    }
  | { readonly act: 'end'; readonly fence: number; readonly outcome: DeliveryOutcome; readonly used: number }

export type Told =
  | { readonly kind: 'granted'; readonly fence: number; readonly amount: number; readonly remaining: number }
  | { readonly kind: 'busy' | 'spent' | 'foreign' | 'unknown' }
  | {
      readonly kind: 'standing'
      readonly request: string
      readonly state: 'open' | 'busy' | 'spent'
      readonly remaining: number
    }
  | { readonly kind: 'done'; readonly held: boolean }
  | { readonly kind: 'advanced'; readonly amount: number }
  | { readonly kind: 'reported'; readonly amount: number; readonly remaining: number; readonly isOpen: boolean }
  /** No register throws an error, so a history with one is not linearizable. */
  | { readonly kind: 'thrown'; readonly error: string }

/** One call of a ledger as its caller saw it: in nanoseconds of a clock that all processes share. */
export interface Call {
  readonly from: number
  readonly to: number
  readonly asked: Asked
  readonly told: Told
}

export interface Terms {
  readonly unit: 'request' | 'byte'
  readonly amount: number
}

export interface Lease {
  readonly fence: number
  readonly amount: number
  /** How much was used under it when it was last advanced. */
  readonly said: number
  /** The number of the next report of a slice; 0 for other grants. */
  readonly next: number
  /** The deadline, in whole milliseconds: not before `earliest`, not after `latest`. */
  readonly earliest: number
  readonly latest: number
}

export interface Register {
  /** Undefined until it is registered. */
  readonly request: string | undefined
  readonly used: number
  readonly counted: number
  readonly free: number
  /** How many lapsed slices went back to the payer. */
  readonly returned: number
  readonly fence: number
  readonly leases: readonly Lease[]
}

export const untouched: Register = {
  request: undefined,
  used: 0,
  counted: 0,
  free: 0,
  returned: 0,
  fence: 0,
  leases: [],
}

const mostCounted = 3
const mostFree = 20
const mostReturned = 3
const freeUseCosts = { request: 1, byte: 1_000 }

/**
 * What the register may be after a call that was answered so; the very same object where a call that is answered so can
 * never change anything. None: it may not.
 */
export function after(terms: Terms, register: Register, call: Call): readonly Register[] {
  const { asked, told } = call
  switch (asked.act) {
    case 'take':
      return afterTake(terms, register, call, asked)
    case 'peek': {
      if (register.request === undefined) return only(register, told.kind === 'unknown')
      const { request } = register
      const shows = (state: 'open' | 'busy' | 'spent', remaining: number): boolean =>
        told.kind === 'standing' && told.request === request && told.state === state && told.remaining === remaining
      return views(register, call)
        .filter(({ leased, settled }) => {
          if (isOver(terms, settled)) return shows('spent', 0)
          const left = terms.amount - settled.used - leased
          return shows(left === 0 ? 'busy' : 'open', left)
        })
        .map(({ seen }) => seen)
    }
    case 'renew': {
      const lease = find(register, asked.fence)
      if (told.kind !== 'done' || told.held !== (lease !== undefined)) return []
      if (!lease) return [register]
      const [earliest, latest] = deadlineOf(call, asked.leaseMs)
      const longer = {
        ...lease,
        earliest: Math.max(lease.earliest, earliest),
        latest: Math.max(lease.latest, latest),
      }
      return [{ ...register, leases: register.leases.map((one) => (one === lease ? longer : one)) }]
    }
    case 'advance':
      return afterAdvance(terms, register, call, asked)
    case 'report':
      return afterReport(terms, register, call, asked)
    case 'end': {
      const lease = find(register, asked.fence)
      if (told.kind !== 'done' || told.held !== (lease !== undefined)) return []
      if (!lease) return [register]
      const rest = { ...register, leases: register.leases.filter((one) => one !== lease) }
      return [tallied(terms, rest, asked.outcome, usedOf(lease, asked.used), lease.amount)]
    }
  }
}

function afterTake(
  terms: Terms,
  before: Register,
  call: Call,
  asked: Extract<Asked, { act: 'take' }>,
): readonly Register[] {
  const { told } = call
  if (before.request === undefined && !asked.registers) return only(before, told.kind === 'unknown')
  const register = before.request === undefined ? { ...before, request: asked.request } : before
  if (register.request !== asked.request) return only(register, told.kind === 'foreign')
  return views(register, call).flatMap(({ leased, sliced, seen, live, settled }) => {
    if (isOver(terms, settled)) return only(seen, told.kind === 'spent')
    const left = terms.amount - settled.used - leased
    if (left === 0) return only(seen, told.kind === 'busy')
    const slice = asked.slices && terms.unit === 'request' ? sliceOf(left) : 0
    const amount = slice || Math.min(asked.amount, left)
    if (told.kind !== 'granted' || told.fence <= register.fence) return []
    if (told.amount !== amount || told.remaining !== left - amount + sliced) return []
    const [earliest, latest] = deadlineOf(call, asked.leaseMs)
    // A grant makes void what has lapsed.
    const lease = { fence: told.fence, amount, said: 0, next: slice > 0 ? 1 : 0, earliest, latest }
    return [{ ...settled, fence: told.fence, leases: [...live, lease] }]
  })
}

/** A sixteenth, at most 64, and nothing where that is less than two. */
function sliceOf(left: number): number {
  const part = Math.min(Math.floor(left / 16), 64)
  return part < 2 ? 0 : part
}

function afterReport(
  terms: Terms,
  register: Register,
  call: Call,
  asked: Extract<Asked, { act: 'report' }>,
): readonly Register[] {
  const { told } = call
  const slice = find(register, asked.fence)
  if (!slice || slice.next === 0) return only(register, told.kind === 'done' && !told.held)
  if (told.kind !== 'reported') return []
  const others = { ...register, leases: register.leases.filter((one) => one !== slice) }
  return views(others, call).flatMap(({ leased, sliced, live, settled }) => {
    let { used, counted, free } = settled
    if (asked.number === slice.next) {
      used += Math.min(asked.delivered, slice.amount)
      counted += asked.partial
      for (let use = 0; use < asked.noBody; use += 1) {
        free += 1
        if (free >= mostFree && used - settled.used < slice.amount) used += 1
      }
    }
    const kept = slice.amount - (used - settled.used)
    const isOpen = !isOver(terms, { used, counted })
    const left = terms.amount - used - leased
    const amount = Math.max(Math.min(asked.keeps, kept), isOpen && asked.fills ? sliceOf(left) : 0)
    const remaining = isOpen ? left - amount + sliced : 0
    if (told.amount !== amount || told.remaining !== remaining || told.isOpen !== isOpen) return []
    const own = { ...slice, amount, next: Math.max(slice.next, asked.number + 1) }
    return [{ ...settled, used, counted, free, leases: inOrder(amount > 0 ? [...live, own] : live) }]
  })
}

function afterAdvance(
  terms: Terms,
  register: Register,
  call: Call,
  asked: Extract<Asked, { act: 'advance' }>,
): readonly Register[] {
  const { told } = call
  const lease = find(register, asked.fence)
  if (!lease) return only(register, told.kind === 'done' && !told.held)
  if (told.kind !== 'advanced') return []
  const used = register.used + usedOf(lease, asked.used)
  const own = { ...lease, amount: told.amount, said: Math.max(lease.said, asked.used) }
  const others = { ...register, leases: register.leases.filter((one) => one !== lease) }
  return views(others, call).flatMap(({ leased, live }) => {
    if (told.amount !== Math.min(asked.more, terms.amount - used - leased)) return []
    // As a grant does, it makes void what others let lapse. A new register even where all is as it was: elsewhere the
    // same call might have changed something.
    return [{ ...register, used, leases: inOrder([...live, own]) }]
  })
}

/** What was used under a lease since it was last advanced, of what it holds. */
function usedOf({ said, amount }: Lease, used: number): number {
  return Math.min(Math.max(used - said, 0), amount)
}

function tallied(terms: Terms, register: Register, outcome: DeliveryOutcome, used: number, leased: number): Register {
  if (outcome === 'delivered') return { ...register, used: register.used + used }
  if (outcome === 'partial') return { ...register, counted: register.counted + 1 }
  if (outcome === 'not_started') return register
  const free = register.free + 1
  const costs = free < mostFree ? 0 : Math.min(freeUseCosts[terms.unit], leased)
  return { ...register, free, used: register.used + costs }
}

function isOver({ unit, amount }: Terms, { used, counted }: Pick<Register, 'used' | 'counted'>): boolean {
  return used >= amount || (unit === 'request' && counted >= mostCounted * amount)
}

interface View {
  readonly leased: number
  /** How much of that is in slices. */
  readonly sliced: number
  readonly live: readonly Lease[]
  /** The register, with the uses of the lapsed slices that do not go back to the payer. */
  readonly settled: Register
  /** The register, with what this view of it says about deadlines. */
  readonly seen: Register
}

/** The ways in which a call may have found the leases. */
function views(register: Register, call: Call): readonly View[] {
  const [first, last] = millisecondsOf(call)
  let ways: readonly { readonly live: readonly Lease[]; readonly lapsed: readonly Lease[] }[] = [
    { live: [], lapsed: [] },
  ]
  for (const lease of register.leases) {
    const alive = lease.latest > first ? [{ ...lease, earliest: Math.max(lease.earliest, first + 1) }] : []
    const gone = lease.earliest <= last ? [{ ...lease, latest: Math.min(lease.latest, last) }] : []
    ways = ways.flatMap(({ live, lapsed }) => [
      ...alive.map((one) => ({ live: [...live, one], lapsed })),
      ...gone.map((one) => ({ live, lapsed: [...lapsed, one] })),
    ])
  }
  return ways.map(({ live, lapsed }) => {
    const leases = inOrder([...live, ...lapsed])
    const seen = isAll(leases, register.leases) ? register : { ...register, leases }
    const gone = lapsed.filter(({ next }) => next > 0)
    const back = Math.min(gone.length, mostReturned - register.returned)
    const lost = inOrder(gone).slice(back)
    const settled = { ...register, used: register.used + sum(lost), returned: register.returned + back }
    return { live, seen, settled, leased: sum(live), sliced: sum(live.filter(({ next }) => next > 0)) }
  })
}

function sum(leases: readonly Lease[]): number {
  return leases.reduce((total, { amount }) => total + amount, 0)
}

function inOrder(leases: readonly Lease[]): readonly Lease[] {
  return leases.toSorted((one, other) => one.fence - other.fence)
}

/** Whether these are those, and no more is known of any deadline. */
function isAll(leases: readonly Lease[], others: readonly Lease[]): boolean {
  return leases.length === others.length && leases.every((lease, index) => isSame(lease, others[index]))
}

function isSame(one: Lease, other: Lease | undefined): boolean {
  return one.fence === other?.fence && one.earliest === other.earliest && one.latest === other.latest
}

function find({ leases }: Register, fence: number): Lease | undefined {
  return leases.find((lease) => lease.fence === fence)
}

function only(register: Register, isAllowed: boolean): readonly Register[] {
  return isAllowed ? [register] : []
}

function millisecondsOf({ from, to }: Call): readonly [number, number] {
  return [Math.floor(from / 1e6), Math.floor(to / 1e6)]
}

function deadlineOf(call: Call, leaseMs: number): readonly [number, number] {
  const [first, last] = millisecondsOf(call)
  return [first + leaseMs, last + leaseMs]
}
