/**
 * What became of transactions that were confirmed once: on the chain for good, taken back, or not decided yet.
 *
 * A transaction is taken back only when as many nodes as agree on payments say that the finalized chain has gone on long
 * enough for its blockhash to be too old, that they remember so far back, and that they do not have it.
 */
import type { Fate } from '../../core/ports/chain.ts'
import { isFields, readCount } from '../rpc/json.ts'
import { readNumber } from '../rpc/results.ts'
import type { Call } from '../rpc/rpc.ts'
import type { NodeReader } from './node-reader.ts'

export interface FinalizedSignature {
  readonly signature: string
  readonly slot: number
}

/** A blockhash lasts 150 blocks; slots may be skipped, so far more are waited for. */
const slotsToForget = 512
/** The most signatures a node takes in one call. */
const mostSignatures = 256

export async function readFinality(
  nodeReaders: readonly NodeReader[],
  landed: readonly FinalizedSignature[],
): Promise<readonly Fate[]> {
  const fates: Fate[] = []
  for (let start = 0; start < landed.length; start += mostSignatures) {
    fates.push(...(await agree(nodeReaders, landed.slice(start, start + mostSignatures))))
  }
  return fates
}

/** Asks until enough say the same of each, or nobody is left. Where two sides are as strong, it stays open. */
async function agree(
  nodeReaders: readonly NodeReader[],
  landed: readonly FinalizedSignature[],
): Promise<readonly Fate[]> {
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
    // That something was taken back is said only when everybody was heard.
    if (landed.every((_, index) => decide(index) === 'finalized')) break
  }
  return landed.map((_, index) => decide(index))
}

/** What one node says; undefined when it does not. */
async function hear(ask: Call, landed: readonly FinalizedSignature[]): Promise<readonly Fate[] | undefined> {
  // Before the statuses: what is absent after the slot has passed can no longer come.
  const finalized = await readNumber(ask, 'getSlot', [{ commitment: 'finalized' }])
  const signatures = landed.map(({ signature }) => signature)
  const answer = await ask('getSignatureStatuses', [signatures, { searchTransactionHistory: true }])
  const result = answer.kind === 'answered' && isFields(answer.result) ? answer.result : {}
  const { value, context } = result
  // Another node may have answered under the same address, and be behind.
  const at = isFields(context) ? readCount(context['slot']) : undefined
  if (at === undefined || finalized === undefined || at < finalized) return undefined
  if (!Array.isArray(value) || value.length !== landed.length) return undefined
  const statuses = value as readonly unknown[]
  const isForgotten = (slot: number) => finalized > slot + slotsToForget
  const mayBeGone = landed.some(({ slot }, index) => statuses[index] === null && isForgotten(slot))
  // A node that has pruned its history has nothing to say about what is not in it.
  const oldest = mayBeGone ? await readNumber(ask, 'getFirstAvailableBlock', []) : undefined
  return landed.map(({ slot }, index) => {
    const status = statuses[index]
    if (status === null) return isForgotten(slot) && oldest !== undefined && oldest <= slot ? 'reverted' : 'open'
    if (!isFields(status) || status['confirmationStatus'] !== 'finalized' || status['err'] === undefined) return 'open'
    return status['err'] === null ? 'finalized' : 'reverted'
  })
}
