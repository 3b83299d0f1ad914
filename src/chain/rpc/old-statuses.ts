/**
 * Reads statuses that are old, from an answer whose history reaches back far enough.
 *
 * Several nodes can answer behind one address, and some of them keep less history than others. A transaction that is
 * absent from an answer proves something only if the same answer has transactions of an earlier block: its witnesses.
 * The first available block is another answer, perhaps of another node.
 */
import { isFields } from '../../core/encoding/fields.ts'
import { readCount } from './json.ts'
import { readNumber, resultSlot, resultValue } from './results.ts'
import type { Call } from './rpc.ts'

export interface OldStatuses {
  readonly slot: number | undefined
  /** One for each signature, unparsed. */
  readonly statuses: readonly unknown[]
}

/** Blocks before the oldest slot among which witnesses are searched. */
const searchedSlots = 64
const mostBlocks = 4
/** Some nodes keep no votes in their history, so that one witness is not enough. */
const mostWitnesses = 4
/** The most signatures in one question, beside the witnesses. */
export const mostOldStatuses = 256 - mostWitnesses

/** The last witnesses of each address. Blocks are long, and payments of the same minutes can share them. */
const found = new WeakMap<Call, { readonly slot: number; readonly witnesses: readonly string[] }>()
const sharedSlots = 1_000

/** Undefined if no answer shows that its history reaches back to the oldest slot. */
export async function readOldStatuses(
  call: Call,
  signatures: readonly string[],
  oldest: number,
): Promise<OldStatuses | undefined> {
  const witnesses = await findWitnesses(call, oldest)
  if (!witnesses) return undefined
  const answer = await call('getSignatureStatuses', [[...signatures, ...witnesses], { searchTransactionHistory: true }])
  const value = resultValue(answer)
  if (!Array.isArray(value) || value.length !== signatures.length + witnesses.length) return undefined
  const isOld = witnesses.length > 0 ? value.slice(signatures.length).some(isUpTo(oldest)) : await keeps(call, oldest)
  return isOld ? { slot: resultSlot(answer), statuses: value.slice(0, signatures.length) } : undefined
}

function isUpTo(oldest: number) {
  return (status: unknown): boolean => {
    if (!isFields(status) || status['confirmationStatus'] !== 'finalized') return false
    const slot = readCount(status['slot'])
    return slot !== undefined && slot <= oldest
  }
}

/** On a chain without witnesses, one node answers. This is the last question, because nodes delete the oldest blocks. */
async function keeps(call: Call, oldest: number): Promise<boolean> {
  const first = await readNumber(call, 'getFirstAvailableBlock', [])
  return first !== undefined && first <= oldest
}

/**
 * Transactions of a block up to a slot. Empty if the blocks there have no transactions, as on a test chain. Undefined
 * if they cannot be read.
 */
async function findWitnesses(call: Call, oldest: number): Promise<readonly string[] | undefined> {
  const known = found.get(call)
  if (known && known.slot <= oldest && known.slot > oldest - sharedSlots) return known.witnesses
  const config = { commitment: 'finalized' }
  const listed = await call('getBlocks', [Math.max(0, oldest - searchedSlots), oldest, config])
  const slots: unknown = listed.kind === 'answered' ? listed.result : undefined
  if (!Array.isArray(slots) || slots.length === 0) return undefined
  let isUnreadable = false
  for (const slot of slots.slice(-mostBlocks).reverse()) {
    const answer = await call('getBlock', [slot, { ...config, transactionDetails: 'signatures', rewards: false }])
    const block: unknown = answer.kind === 'answered' ? answer.result : undefined
    const all = isFields(block) ? block['signatures'] : undefined
    if (!Array.isArray(all)) isUnreadable = true
    else if (all.length > 0) {
      const witnesses = spread(all.map(String))
      if (typeof slot === 'number') found.set(call, { slot, witnesses })
      return witnesses
    }
  }
  return isUnreadable ? undefined : []
}

/** Some of a list, with equal distances. */
function spread(all: readonly string[]): readonly string[] {
  const step = Math.ceil(all.length / mostWitnesses)
  return all.filter((_, index) => index % step === 0)
}
