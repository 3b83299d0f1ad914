/**
 * Several witnesses, one answer: with two or more nodes configured, two must say the same.
 *
 * As few are asked as can give an answer. Another joins when one fails, contradicts, lags behind or is slow.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Commitment } from '../../core/ports/chain.ts'
import type { NodeReader, NodeReading, Verified } from './node-reader.ts'

export type Finding =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** Some have it, others do not, or not yet. */
  | { readonly kind: 'lagging' }
  | {
      readonly kind: 'unavailable'
      readonly why: string
      readonly soon: boolean
      readonly isUnreadable?: boolean
    }
  | { readonly kind: 'disagreement'; readonly why: string }

/** What was found out about one transaction so far. A witness that has it is not asked again. */
export interface Inquiry {
  readonly signature: string
  readonly commitment: Commitment
  readonly found: Map<NodeReader, NodeReading>
  readonly missed: Set<NodeReader>
  readonly verified: Verified
  round: number
}

export function createInquiry(signature: string, commitment: Commitment): Inquiry {
  return { signature, commitment, found: new Map(), missed: new Set(), verified: new Map(), round: 0 }
}

export interface InquiryOptions {
  /** Whether a witness is asked for the transaction itself before it said that there is one. */
  readonly isEager: boolean
  readonly hedgeMs: number
  /** Another witness is asked because those before are slow. */
  readonly onHedge: () => void
}

/** Asks once. The caller repeats it while the answer is `missing` or `lagging` and there is time. */
export async function inquire(
  inquiry: Inquiry,
  nodeReaders: readonly NodeReader[],
  { isEager, hedgeMs, onHedge }: InquiryOptions,
): Promise<Finding> {
  const needed = Math.min(2, nodeReaders.length)
  const told = new Map(inquiry.found)
  const waiting = inTurn(inquiry, nodeReaders)
  const asked = new Set<Promise<void>>()
  const ask = (nodeReader: NodeReader) => {
    const answer = hear(nodeReader, inquiry, isEager).then((testimony) => {
      told.set(nodeReader, testimony)
      if (testimony.kind === 'found') inquiry.found.set(nodeReader, testimony)
      if (testimony.kind === 'missing') inquiry.missed.add(nodeReader)
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
    const slow = await waitForAny(asked, waiting.length > 0 ? hedgeMs : undefined)
    const spare = slow ? waiting.shift() : undefined
    if (!spare) continue
    onHedge()
    ask(spare)
  }
}

/** Each round begins with others, lest two that lag for good hide the rest; those that failed come last. */
function inTurn(inquiry: Inquiry, nodeReaders: readonly NodeReader[]): NodeReader[] {
  const start = (2 * inquiry.round) % nodeReaders.length
  inquiry.round += 1
  return [...nodeReaders.slice(start), ...nodeReaders.slice(0, start)]
    .filter((nodeReader) => !inquiry.found.has(nodeReader))
    .sort((left, right) => left.failures() - right.failures())
}

async function hear(nodeReader: NodeReader, inquiry: Inquiry, isEager: boolean): Promise<NodeReading> {
  const { signature, missed, verified, commitment } = inquiry
  const isDoubtful = missed.has(nodeReader) || !isEager
  if (isDoubtful && !(await nodeReader.appeared(signature, commitment))) return { kind: 'missing' }
  return nodeReader.read(signature, verified, commitment)
}

type Statement = Exclude<NodeReading, { readonly kind: 'unavailable' }>

/** Those who say the same together, the largest group first. */
function groups(testimonies: Iterable<NodeReading>): readonly (readonly Statement[])[] {
  const statements = [...testimonies].filter((testimony) => testimony.kind !== 'unavailable')
  // Nobody to compare with: the usual case where there is one node.
  if (statements.length < 2) return statements.map((statement) => [statement])
  const byMeaning = new Map<string, Statement[]>()
  for (const testimony of statements) {
    const meaning = testimony.kind === 'missing' ? '' : canonicalJson(testimony.effect)
    byMeaning.set(meaning, [...(byMeaning.get(meaning) ?? []), testimony])
  }
  return [...byMeaning.values()].sort((left, right) => right.length - left.length)
}

function explain(testimonies: readonly NodeReading[]): Finding {
  const sides = groups(testimonies)
  const found = sides.filter(([first]) => first?.kind === 'found')
  if (found.length > 1) return { kind: 'disagreement', why: 'two nodes tell different things about the transaction' }
  if (sides.length > 1) return { kind: 'lagging' }
  const failed = testimonies.filter((testimony) => testimony.kind === 'unavailable')
  const why = failed[0]?.why ?? 'too few nodes are configured'
  const soon = failed.some((testimony) => testimony.soon)
  const isUnreadable = failed.length > 0 && failed.every((testimony) => testimony.isUnreadable)
  return {
    kind: 'unavailable',
    why: sides.length === 0 ? why : `only one node can be heard: ${why}`,
    soon,
    isUnreadable,
  }
}

/** True when none of them ended within `hedgeMs`. */
async function waitForAny(promises: ReadonlySet<Promise<void>>, hedgeMs: number | undefined): Promise<boolean> {
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
