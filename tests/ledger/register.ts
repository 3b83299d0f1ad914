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
      readonly leaseMs: number
    }
  | { readonly act: 'peek' }
  | { readonly act: 'renew'; readonly fence: number; readonly leaseMs: number }
  | { readonly act: 'advance'; readonly fence: number; readonly used: number; readonly more: number }
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
  readonly fence: number
  readonly leases: readonly Lease[]
}

export const untouched: Register = { request: undefined, used: 0, counted: 0, free: 0, fence: 0, leases: [] }

const mostCounted = 3
const mostFree = 20
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
      if (isOver(terms, register)) return only(register, shows('spent', 0))
      return views(register, call)
        .filter(({ leased }) => {
          const left = terms.amount - register.used - leased
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
  if (isOver(terms, register)) return only(register, told.kind === 'spent')
  return views(register, call).flatMap(({ leased, seen, live }) => {
    const left = terms.amount - register.used - leased
    if (left === 0) return only(seen, told.kind === 'busy')
    const amount = Math.min(asked.amount, left)
    if (told.kind !== 'granted' || told.fence <= register.fence) return []
    if (told.amount !== amount || told.remaining !== left - amount) return []
    const [earliest, latest] = deadlineOf(call, asked.leaseMs)
    // A grant makes void what has lapsed.
    const lease = { fence: told.fence, amount, said: 0, earliest, latest }
    return [{ ...register, fence: told.fence, leases: [...live, lease] }]
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

function isOver({ unit, amount }: Terms, { used, counted }: Register): boolean {
  return used >= amount || (unit === 'request' && counted >= mostCounted * amount)
}

interface View {
  readonly leased: number
  readonly live: readonly Lease[]
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
    return { live, seen, leased: live.reduce((sum, { amount }) => sum + amount, 0) }
  })
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
