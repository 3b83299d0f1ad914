/**
 * Several witnesses, one answer: with two or more nodes configured, two must say the same.
 *
 * As few are asked as can give an answer. Another joins when one fails, contradicts, lags behind or is slow.
 */
import type { Effect } from '../core/verify.ts'
import type { Testimony, Verified, Witness } from './witness.ts'

export type Finding =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** Some have it, others do not, or not yet. */
  | { readonly kind: 'lagging' }
  | { readonly kind: 'unavailable'; readonly why: string }
  | { readonly kind: 'disagreement'; readonly why: string }

/** What was found out about one transaction so far. A witness that has it is not asked again. */
export interface Inquiry {
  readonly signature: string
  readonly found: Map<Witness, Testimony>
  readonly verified: Verified
}

export function createInquiry(signature: string): Inquiry {
  return { signature, found: new Map(), verified: new Map() }
}

/** Asks once. The caller repeats it while the answer is `missing` or `lagging` and there is time. */
export async function inquire(inquiry: Inquiry, witnesses: readonly Witness[], hedgeMs: number): Promise<Finding> {
  const needed = Math.min(2, witnesses.length)
  const told = new Map(inquiry.found)
  const waiting = [...witnesses]
    .filter((witness) => !told.has(witness))
    .sort((left, right) => left.failures() - right.failures())
  const asked = new Set<Promise<void>>()
  const ask = (witness: Witness) => {
    const answer = witness.testify(inquiry.signature, inquiry.verified).then((testimony) => {
      told.set(witness, testimony)
      if (testimony.kind === 'found') inquiry.found.set(witness, testimony)
      asked.delete(answer)
    })
    asked.add(answer)
  }
  for (;;) {
    const largest = groups(told.values())[0]
    const agreeing = largest?.length ?? 0
    if (largest?.[0] && agreeing >= needed) return largest[0]
    for (let short = needed - agreeing - asked.size; short > 0; short -= 1) {
      const next = waiting.shift()
      if (next) ask(next)
    }
    if (asked.size === 0) return explain([...told.values()])
    const slow = await anyOf(asked, waiting.length > 0 ? hedgeMs : undefined)
    const spare = slow ? waiting.shift() : undefined
    if (spare) ask(spare)
  }
}

type Statement = Exclude<Testimony, { readonly kind: 'unavailable' }>

/** Those who say the same together, the largest group first. */
function groups(testimonies: Iterable<Testimony>): readonly (readonly Statement[])[] {
  const byMeaning = new Map<string, Statement[]>()
  for (const testimony of testimonies) {
    if (testimony.kind === 'unavailable') continue
    const meaning = testimony.kind === 'missing' ? '' : JSON.stringify(testimony.effect, exactly)
    byMeaning.set(meaning, [...(byMeaning.get(meaning) ?? []), testimony])
  }
  return [...byMeaning.values()].sort((left, right) => right.length - left.length)
}

function exactly(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function explain(testimonies: readonly Testimony[]): Finding {
  const sides = groups(testimonies)
  const found = sides.filter(([first]) => first?.kind === 'found')
  if (found.length > 1) return { kind: 'disagreement', why: 'two nodes tell different things about the transaction' }
  if (sides.length > 1) return { kind: 'lagging' }
  const failed = testimonies.find((testimony) => testimony.kind === 'unavailable')
  const why = failed?.why ?? 'too few nodes are configured'
  return { kind: 'unavailable', why: sides.length === 0 ? why : `only one node can be heard: ${why}` }
}

/** True when none of them ended within `hedgeMs`. */
async function anyOf(promises: ReadonlySet<Promise<void>>, hedgeMs: number | undefined): Promise<boolean> {
  if (hedgeMs === undefined) {
    await Promise.race(promises)
    return false
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const slow = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), hedgeMs)
  })
  try {
    return (await Promise.race([...promises, slow])) === true
  } finally {
    clearTimeout(timer)
  }
}
