/**
 * Slots: the open one, their start times, the dropped ones, and their blockhashes.
 *
 * All data of an idle slot follow from its number: the time from a few anchors, the blockhash from a secret seed. Idle
 * slots therefore need no memory and no work, and a chain that was closed has simply been idle.
 */
import { createHash } from 'node:crypto'
import { encodeBase58 } from '../../core/encoding/base58.ts'

/**
 * A slot and its start time. Slots between two anchors are evenly spaced. After the last anchor they follow `slotMs`.
 */
export interface Anchor {
  readonly slot: number
  readonly ms: number
}

/** Slots from first to last that have no block because of a dropped fork. */
export interface Gap {
  readonly first: number
  readonly last: number
}

/** A blockhash is valid while at most this many blocks have followed it. */
export const blockhashAge = 150
/** The number of slots until a closed slot is final. */
export const finalityDepth = 32
const knownHashes = 400
/** The number of cached hashes. Programs see about 660 of them in every slot that runs one. */
const maxDerived = 4_096

export interface TimelineParts {
  readonly slotMs: number
  readonly seed: Uint8Array
  readonly anchors: readonly Anchor[]
  readonly gaps: readonly Gap[]
}

export function createTimeline(parts: TimelineParts) {
  const { slotMs, seed } = parts
  const anchors = [...parts.anchors]
  const gaps = [...parts.gaps]
  const known = new Map<string, number>()
  const derived = new Map<string, Uint8Array>()
  let knownUpTo = -1

  function timeOf(slot: number): number {
    const index = anchorBefore(anchors, slot)
    const from = anchors[index] as Anchor
    const to = anchors[index + 1]
    const step = to ? (to.ms - from.ms) / (to.slot - from.slot) : slotMs
    return Math.floor(from.ms + (slot - from.slot) * step)
  }

  function gapOf(slot: number): Gap | undefined {
    return gaps.find(({ first, last }) => slot >= first && slot <= last)
  }

  function lastUpTo(slot: number): number {
    const gap = gapOf(slot)
    return gap ? lastUpTo(gap.first - 1) : Math.max(0, slot)
  }

  function derive(label: 'bank' | 'blockhash', slot: number): Uint8Array {
    const name = `${label}:${slot}`
    const found = derived.get(name)
    if (found) return found
    const hash = createHash('sha256').update(seed).update(name).digest()
    if (derived.size >= maxDerived) derived.clear()
    derived.set(name, hash)
    return hash
  }

  function blockhashOf(slot: number): string {
    return encodeBase58(derive('blockhash', slot))
  }

  function heightOf(slot: number): number {
    const skipped = gaps.reduce((sum, { first, last }) => sum + Math.max(0, Math.min(last, slot) - first + 1), 0)
    return slot - skipped
  }

  return {
    /** The slot that is open at this time. */
    tipAt(ms: number) {
      const last = anchors[anchors.length - 1] as Anchor
      return last.slot + Math.max(0, Math.floor((ms - last.ms) / slotMs))
    },
    /** Start time of a slot, in milliseconds. */
    timeOf,
    exists: (slot: number) => slot >= 0 && !gapOf(slot),
    /** The last slot with a block, up to and including this one. */
    lastUpTo,
    parentOf: (slot: number) => lastUpTo(slot - 1),
    heightOf,
    blockhashOf,
    blockhashBytesOf: (slot: number) => derive('blockhash', slot),
    bankHashOf: (slot: number) => derive('bank', slot),
    /** The slot of a blockhash, if it is valid when `latest` is the last closed slot. */
    slotOfBlockhash(blockhash: string, latest: number, maxAge: number = blockhashAge) {
      for (let slot = Math.max(knownUpTo + 1, latest - knownHashes, 0); slot <= latest; slot++)
        known.set(blockhashOf(slot), slot)
      knownUpTo = Math.max(knownUpTo, latest)
      if (known.size > 2 * knownHashes)
        for (const [hash, slot] of known) if (slot < latest - knownHashes) known.delete(hash)
      const slot = known.get(blockhash)
      if (slot === undefined || slot > latest || gapOf(slot)) return undefined
      return heightOf(latest) - heightOf(slot) <= maxAge ? slot : undefined
    },
    /** Closes the open slot and opens the one that many slots later. Returns the anchors to store. */
    jump(open: number, slots: number, nowMs: number) {
      const added = [
        { slot: open, ms: timeOf(open) },
        { slot: open + slots, ms: nowMs },
      ]
      anchors.push(...added)
      return added
    },
    /** Removes the slots after this one up to the open one, and returns the resulting gap. */
    drop(after: number, open: number) {
      const inside = gaps.filter(({ last }) => last > after)
      const gap = { first: Math.min(after + 1, ...inside.map(({ first }) => first)), last: open }
      for (const old of inside) gaps.splice(gaps.indexOf(old), 1)
      gaps.push(gap)
      return gap
    },
  }
}

export type Timeline = ReturnType<typeof createTimeline>

/** The index of the last anchor up to and including this slot. */
function anchorBefore(anchors: readonly Anchor[], slot: number): number {
  let low = 0
  let high = anchors.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((anchors[middle] as Anchor).slot <= slot) low = middle
    else high = middle - 1
  }
  return low
}
