/**
 * Combines the reports of several nodes: with two or more nodes configured, two must agree.
 *
 * It asks as few nodes as possible. Another node is asked if one fails, contradicts, lags or is slow.
 */
import { canonicalJson } from '../../core/encoding/canonical-json.ts'
import type { Effect } from '../../core/payment/verify.ts'
import type { Commitment } from '../../core/ports/chain.ts'
import type { NodeReader, NodeReading, Verified } from './node-reader.ts'

export type Finding =
  | { readonly kind: 'found'; readonly effect: Effect }
  | { readonly kind: 'missing' }
  /** Some nodes have it, and others do not have it yet. */
  | { readonly kind: 'lagging' }
  | { readonly kind: 'unavailable'; readonly why: string; readonly soon: boolean; readonly isUnreadable?: boolean }
  | { readonly kind: 'disagreement'; readonly why: string }

/** The state of one inquiry. A node that has reported the transaction is not asked again. */
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
  /** Whether nodes are asked for the transaction itself before they report that it exists. */
  readonly isEager: boolean
  readonly hedgeMs: number
  /** Called when another node is asked because the earlier ones are slow. */
  readonly onHedge: () => void
}

/** Asks once. The caller repeats the call while the answer is `missing` or `lagging` and time remains. */
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

/**
 * Each round starts with other nodes, so that two that lag permanently cannot hide the rest. Failed nodes come last.
 */
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

/** Groups equal reports, the largest group first. */
function groups(testimonies: Iterable<NodeReading>): readonly (readonly Statement[])[] {
  const statements = [...testimonies].filter((testimony) => testimony.kind !== 'unavailable')
  // There is nothing to compare: the usual case with one node.
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
  if (found.length > 1) return { kind: 'disagreement', why: 'two nodes contradict each other about the transaction' }
  if (sides.length > 1) return { kind: 'lagging' }
  const failed = testimonies.filter((testimony) => testimony.kind === 'unavailable')
  const why = failed[0]?.why ?? 'too few nodes are configured'
  const soon = failed.some((testimony) => testimony.soon)
  const isUnreadable = failed.length > 0 && failed.every((testimony) => testimony.isUnreadable)
  return { kind: 'unavailable', why: sides.length === 0 ? why : `only one node responds: ${why}`, soon, isUnreadable }
}

/** True if none of them finished within `hedgeMs`. */
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
