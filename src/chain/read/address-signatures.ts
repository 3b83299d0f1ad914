/**
 * Lists the payments to an address, as reported by a node. The list is only a hint: each transaction is read and
 * verified.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Mark } from '../../core/ports/journal.ts'
import { readCount } from '../rpc/json.ts'
import type { RpcAnswer } from '../rpc/rpc.ts'
import { createSignaturePages } from '../rpc/signature-pages.ts'
import type { NodeReader } from './node-reader.ts'

export interface Listed {
  readonly signature: string
  readonly slot: number
  readonly isFinal: boolean
  /** All memos of the transaction, as the node joins them. Empty without one. */
  readonly memos: string
}

/** A longer list is not credible. */
const mostRows = 1_000_000

interface Row extends Listed {
  readonly isFailed: boolean
}

/** Successful transactions after the mark, the oldest first. Undefined if no node answers. */
export async function listPayments(
  nodeReaders: readonly NodeReader[],
  address: string,
  mark: Mark,
  minContextSlot: number,
): Promise<readonly Listed[] | undefined> {
  const pages = createSignaturePages(address, {
    commitment: 'confirmed',
    // A lagging node would hide payments.
    ...(minContextSlot > 0 && { minContextSlot }),
    ...(mark.signature !== '' && { until: mark.signature }),
  })
  const found: Row[] = []
  let before: string | undefined
  while (found.length < mostRows) {
    const rows = await askAny(nodeReaders, ({ ask }) => pages.ask(ask, before), readRows)
    if (!rows) return undefined
    const after = rows.filter(({ slot, signature }) => slot >= mark.slot && signature !== mark.signature)
    found.push(...after)
    before = rows.at(-1)?.signature
    if (rows.length < pages.limit() || after.length < rows.length)
      return found.filter(({ isFailed }) => !isFailed).reverse()
  }
  return undefined
}

/**
 * The lower finalized slot of two nodes, if two are configured. A single node could make the watcher skip future
 * payments.
 */
export async function readFinalizedSlot(nodeReaders: readonly NodeReader[]): Promise<number | undefined> {
  const slots: number[] = []
  for (const { ask } of nodeReaders) {
    const answer = await ask('getSlot', [{ commitment: 'finalized' }])
    const slot = answer.kind === 'answered' ? readCount(answer.result) : undefined
    if (slot !== undefined) slots.push(slot)
    if (slots.length >= Math.min(2, nodeReaders.length)) return Math.min(...slots)
  }
  return undefined
}

/** The first usable answer, starting with the node that has the fewest failures. */
async function askAny<Value>(
  nodeReaders: readonly NodeReader[],
  ask: (nodeReader: NodeReader) => Promise<RpcAnswer>,
  read: (result: unknown) => Value | undefined,
): Promise<Value | undefined> {
  for (const nodeReader of [...nodeReaders].sort((left, right) => left.failures() - right.failures())) {
    const answer = await ask(nodeReader)
    const value = answer.kind === 'answered' ? read(answer.result) : undefined
    if (value !== undefined) return value
  }
  return undefined
}

function readRows(result: unknown): readonly Row[] | undefined {
  if (!Array.isArray(result)) return undefined
  return result.flatMap((row: unknown) => {
    const slot = isFields(row) ? readCount(row['slot']) : undefined
    if (!isFields(row) || typeof row['signature'] !== 'string' || slot === undefined) return []
    const { signature, confirmationStatus, err, memo } = row
    const memos = typeof memo === 'string' ? memo : ''
    const isFinal = confirmationStatus === 'finalized'
    return [{ signature: String(signature), slot, isFinal, memos, isFailed: err !== null }]
  })
}
