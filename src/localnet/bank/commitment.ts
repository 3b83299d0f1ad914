/** Commitments: the certainty that a slot stays part of the chain. */
import { finalityDepth, type Timeline } from './timeline.ts'

export type Commitment = 'processed' | 'confirmed' | 'finalized'

/**
 * The latest slot at each commitment, as seen by one node.
 *
 * The open slot is processed. A slot is confirmed once it is closed and another is open, and final once 32 later slots
 * have begun.
 */
export type View = Readonly<Record<Commitment, number>>

export function computeView(open: number, lagSlots: number, timeline: Timeline): View {
  const processed = lagSlots === 0 ? open : timeline.lastUpTo(Math.max(0, open - lagSlots))
  return {
    processed,
    confirmed: timeline.parentOf(processed),
    finalized: timeline.lastUpTo(Math.max(0, processed - finalityDepth)),
  }
}

export function findCommitment(slot: number, view: View): Commitment {
  if (slot <= view.finalized) return 'finalized'
  return slot <= view.confirmed ? 'confirmed' : 'processed'
}
