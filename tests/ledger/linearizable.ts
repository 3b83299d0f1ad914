/**
 * Decides whether a history is linearizable: whether each call can be given one moment between its beginning and its end,
 * so that the answers are those of a register that is asked one call after another.
 *
 * The search is Wing and Gong's, with Lowe's memory of what has been tried. Calls that change nothing never need a
 * choice: where such a call fits, it may as well have happened there.
 */
import type { Call, Register, Terms } from './register.ts'
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
  const tried = new Set<string>()
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
    const memory = nameOf(done, first, register)
    if (tried.has(memory)) return false
    tried.add(memory)
    const candidates = next(first).map((index) => ({ index, results: after(terms, register, calls[index] as Call) }))
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

/** What has been done, and what the register is then: all that the rest of the search depends on. */
function nameOf(done: Uint8Array, first: number, register: Register): string {
  const ahead: number[] = []
  for (let index = first; index < done.length; index += 1) if (done[index] === 1) ahead.push(index)
  const { request, used, counted, free, fence, leases } = register
  const held = leases.map((lease) => `${lease.fence}:${lease.amount}:${lease.earliest}:${lease.latest}`)
  return [first, ahead.join(), request, used, counted, free, fence, ...held].join(' ')
}
