/**
 * Reads the outcome of transactions that were confirmed once: finalized, reverted or undecided.
 *
 * A transaction counts as reverted only if a quorum of nodes reports three facts: the finalized chain has advanced
 * beyond the lifetime of its blockhash, their history reaches back far enough, and they do not have the transaction.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Fate } from '../../core/ports/chain.ts'
import { readCount } from '../rpc/json.ts'
import { mostOldStatuses, readOldStatuses } from '../rpc/old-statuses.ts'
import { readNumber } from '../rpc/results.ts'
import type { Call } from '../rpc/rpc.ts'
import type { NodeReader } from './node-reader.ts'

export interface FinalizedSignature {
  readonly signature: string
  readonly slot: number
}

/** A blockhash lasts 150 blocks. Slots can be skipped, so the wait is much longer. */
const slotsToForget = 512
/** The maximum number of signatures per call. */
const mostSignatures = 256

export async function readFinality(
  nodeReaders: readonly NodeReader[],
  landed: readonly FinalizedSignature[],
): Promise<readonly Fate[]> {
  const fates: Fate[] = []
  for (let start = 0; start < landed.length; start += mostSignatures)
    fates.push(...(await agree(nodeReaders, landed.slice(start, start + mostSignatures))))
  return fates
}

/** Asks nodes until enough of them agree on each transaction, or all were asked. A tie stays open. */
async function agree(nodeReaders: readonly NodeReader[], landed: readonly FinalizedSignature[]) {
  const needed = Math.min(2, nodeReaders.length)
  const told: (readonly Fate[])[] = []
  const decide = (index: number): Fate => {
    const enough = (fate: Fate) => told.filter((fates) => fates[index] === fate).length >= needed
    if (enough('finalized') === enough('reverted')) return 'open'
    return enough('finalized') ? 'finalized' : 'reverted'
  }
  for (const nodeReader of [...nodeReaders].sort((left, right) => left.failures() - right.failures())) {
    const fates = await hear(nodeReader.ask, landed)
    if (fates) told.push(fates)
    // A reversal is reported only after all nodes were asked.
    if (landed.every((_, index) => decide(index) === 'finalized')) break
  }
  return landed.map((_, index) => decide(index))
}

/** The report of one node. Undefined if it does not answer. */
async function hear(ask: Call, landed: readonly FinalizedSignature[]): Promise<readonly Fate[] | undefined> {
  // Read before the statuses: a transaction that is absent after this slot has passed can no longer land.
  const finalized = await readNumber(ask, 'getSlot', [{ commitment: 'finalized' }])
  const signatures = landed.map(({ signature }) => signature)
  const answer = await ask('getSignatureStatuses', [signatures, { searchTransactionHistory: true }])
  const result = answer.kind === 'answered' && isFields(answer.result) ? answer.result : {}
  const { value, context } = result
  // Another node may have answered at the same address and may lag.
  const at = isFields(context) ? readCount(context['slot']) : undefined
  if (at === undefined || finalized === undefined || at < finalized) return undefined
  if (!Array.isArray(value) || value.length !== landed.length) return undefined
  const statuses = value as readonly unknown[]
  const isForgotten = (slot: number) => finalized > slot + slotsToForget
  const missing = landed.filter(({ slot }, index) => statuses[index] === null && isForgotten(slot))
  const gone = await readGone(ask, finalized, missing)
  return landed.map(({ signature }, index) => {
    const status = statuses[index]
    if (status === null) return gone.has(signature) ? 'reverted' : 'open'
    if (!isFields(status) || status['confirmationStatus'] !== 'finalized' || status['err'] === undefined) return 'open'
    return status['err'] === null ? 'finalized' : 'reverted'
  })
}

/**
 * The missing transactions that are absent from an answer with enough history. If no history reaches back to the oldest
 * of them, the newest one is asked for alone, and the others in a later round.
 */
async function readGone(ask: Call, finalized: number, missing: readonly FinalizedSignature[]) {
  const [newest, ...others] = [...missing].sort((left, right) => right.slot - left.slot).slice(-mostOldStatuses)
  if (!newest) return new Set<string>()
  const read = async (asked: readonly FinalizedSignature[]) => {
    const names = asked.map(({ signature }) => signature)
    const old = await readOldStatuses(ask, names, asked.at(-1)?.slot ?? 0)
    const isCurrent = old?.slot !== undefined && old.slot >= finalized
    return isCurrent ? new Set(names.filter((_, index) => old.statuses[index] === null)) : undefined
  }
  const all = await read([newest, ...others])
  return all ?? (others.length > 0 ? await read([newest]) : undefined) ?? new Set<string>()
}
