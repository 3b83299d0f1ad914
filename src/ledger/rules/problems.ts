/** Builds the problems of observed payments, and merges lists of problems. Both databases use it. */
import type { Sighting } from '../../core/ports/journal.ts'
import { type PaymentListMark, type Problem, type ProblemKind, problemKinds } from '../../core/ports/reports.ts'
import { compareMarks, listObservation } from './payment-list.ts'

/** A payment may stay unclaimed for this long before it counts as a problem. */
export const claimingMs = 60_000

/** The kinds of problems among registered payments, and among observed ones. `late` and `surplus` occur in both. */
export const registeredKinds = ['reverted', 'late', 'undelivered', 'surplus'] as const satisfies readonly ProblemKind[]
export const seenKinds = [
  'late',
  'surplus',
  'unmatched',
  'underpaid',
  'unclaimed',
] as const satisfies readonly ProblemKind[]
export type RegisteredKind = (typeof registeredKinds)[number]
export type SeenKind = (typeof seenKinds)[number]

export function readProblem(sighting: Sighting, kind: SeenKind, now: number): Problem {
  const payment = listObservation(sighting, kind === 'surplus', now)
  return { kind, payment, required: sighting.required, until: sighting.claimableUntil }
}

/** Merges several lists, each with the latest first. */
export function mergeProblems(lists: readonly (readonly Problem[])[], most: number): readonly Problem[] {
  const byMark = (one: Problem, other: Problem) => compareMarks(other.payment, one.payment)
  const seen = new Set<string>()
  const isFirst = ({ payment }: Problem): boolean => {
    const name = Buffer.from(payment.tx).toString('latin1')
    return !seen.has(name) && seen.add(name) !== undefined
  }
  return lists.flat().filter(isFirst).sort(byMark).slice(0, most)
}

/** Counts each kind from one list or two. */
export async function countEach(
  most: number,
  count: (kind: ProblemKind) => Promise<number>,
): Promise<Readonly<Record<ProblemKind, number>>> {
  const counts: [ProblemKind, number][] = []
  for (const kind of problemKinds) counts.push([kind, Math.min(most, await count(kind))])
  return Object.fromEntries(counts) as Record<ProblemKind, number>
}

export function isBeyond(mark: PaymentListMark, after: PaymentListMark | undefined): boolean {
  return after === undefined || compareMarks(mark, after) < 0
}
