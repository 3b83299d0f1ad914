/**
 * Decides whether a history is linearizable: whether each call can be given one moment between its beginning and its end,
 * so that the answers are those of a register that is asked one call after another.
 *
 * The search is Wing and Gong's, with Lowe's memory of what has been tried. Calls that change nothing never need a
 * choice: where such a call fits, it may as well have happened there. Fences only grow, so grants have one order. And
 * what cannot be ordered when little is known of the deadlines cannot be when more is.
 */
import type { Call, Lease, Register, Terms } from './register.ts'
import { after, untouched } from './register.ts'

/** As many calls as could be put in order, and those of which none can come next. */
export interface Anomaly {
  readonly kind: 'anomaly'
  readonly ordered: readonly Call[]
  readonly stuck: readonly Call[]
}
export type Verdict = { readonly kind: 'linearizable' } | Anomaly

/** More than any history of these tests needs by far: one that needs more is a history nobody has judged. */
const mostSteps = 2_000_000

/** Judges the calls that concern one payment. Payments are independent, so each is judged by itself. */
export function judge(terms: Terms, history: readonly Call[]): Verdict {
  const calls = [...history].sort((one, other) => one.from - other.from)
  const done = new Uint8Array(calls.length)
  const tried = new Map<string, (readonly Lease[])[]>()
  const fences = calls
    .flatMap(({ told }) => (told.kind === 'granted' ? [told.fence] : []))
    .sort((one, other) => one - other)
  const ordered: Call[] = []
  let best: Anomaly = { kind: 'anomaly', ordered: [], stuck: calls }
  let steps = 0

  /** The calls that may come next: no other one that is left had ended before they began. */
  const next = (first: number): number[] => {
    const found: number[] = []
    let ends = Number.POSITIVE_INFINITY
    for (let index = first; index < calls.length; index += 1) {
      const call = calls[index]
      if (done[index] === 1 || !call) continue
      if (call.from > ends) break
      ends = Math.min(ends, call.to)
      found.push(index)
    }
    return found
  }
  const place = (index: number, isDone: boolean): void => {
    done[index] = isDone ? 1 : 0
    if (isDone) ordered.push(calls[index] as Call)
    else ordered.pop()
  }
  const search = (start: number, register: Register): boolean => {
    steps += 1
    if (steps > mostSteps) throw new Error('this history has too many orders to be judged')
    let first = start
    while (done[first] === 1) first += 1
    if (first === calls.length) return true
    const name = nameOf(done, first, register)
    const before = tried.get(name) ?? []
    if (before.some((leases) => isWithin(register.leases, leases))) return false
    tried.set(name, [...before, register.leases])
    const nextFence = fences.find((fence) => fence > register.fence)
    const candidates = next(first).map((index) => {
      const call = calls[index] as Call
      const isTooEarly = call.told.kind === 'granted' && call.told.fence !== nextFence
      return { index, results: isTooEarly ? [] : after(terms, register, call) }
    })
    const idle = candidates.find(({ results }) => results.includes(register))
    if (candidates.every(({ results }) => results.length === 0) && ordered.length >= best.ordered.length)
      best = { kind: 'anomaly', ordered: [...ordered], stuck: candidates.map(({ index }) => calls[index] as Call) }
    const choices = idle ? [{ index: idle.index, results: [register] }] : candidates
    for (const { index, results } of choices) {
      place(index, true)
      for (const result of results) if (search(first, result)) return true
      place(index, false)
    }
    return false
  }
  return search(0, untouched) ? { kind: 'linearizable' } : best
}

/** What has been done, and what the register is then: all that the rest of the search depends on, but for the deadlines. */
function nameOf(done: Uint8Array, first: number, register: Register): string {
  const ahead: number[] = []
  for (let index = first; index < done.length; index += 1) if (done[index] === 1) ahead.push(index)
  const { request, used, counted, free, returned, fence, leases } = register
  const held = leases.map((lease) => `${lease.fence}:${lease.amount}:${lease.said}:${lease.next}`)
  return [first, ahead.join(), request, used, counted, free, returned, fence, ...held].join(' ')
}

/** Whether every deadline among the leases is known as well as among the others, which are the same leases. */
function isWithin(leases: readonly Lease[], others: readonly Lease[]): boolean {
  return leases.every(({ earliest, latest }, index) => {
    const other = others[index]
    return other !== undefined && earliest >= other.earliest && latest <= other.latest
  })
}
