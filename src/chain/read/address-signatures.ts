/**
 * Lists the payments to an address, as reported by a node. The list is only a hint: each transaction is read and
 * verified.
 */

import { isFields } from '../../core/encoding/fields.ts'
import type { Mark } from '../../core/ports/journal.ts'
import { readCount } from '../rpc/json.ts'
import type { RpcAnswer } from '../rpc/rpc.ts'
import type { NodeReader } from './node-reader.ts'

export interface Listed {
  readonly signature: string
  readonly slot: number
  readonly isFinal: boolean
  /** All memos of the transaction, as the node joins them. Empty without one. */
  readonly memos: string
}

const mostPerPage = 1_000
/** A million payments. A longer list is not credible. */
const mostPages = 1_000

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
  const pages: Row[] = []
  let before: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const config = {
      commitment: 'confirmed',
      limit: mostPerPage,
      // A lagging node would hide payments.
      ...(minContextSlot > 0 && { minContextSlot }),
      ...(mark.signature !== '' && { until: mark.signature }),
      ...(before !== undefined && { before }),
    }
    const rows = await askAny(nodeReaders, 'getSignaturesForAddress', [address, config], readRows)
    if (!rows) return undefined
    const after = rows.filter(({ slot, signature }) => slot >= mark.slot && signature !== mark.signature)
    pages.push(...after)
    before = rows.at(-1)?.signature
    if (rows.length < mostPerPage || after.length < rows.length)
      return pages.filter(({ isFailed }) => !isFailed).reverse()
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
  method: string,
  params: readonly unknown[],
  read: (result: unknown) => Value | undefined,
): Promise<Value | undefined> {
  for (const nodeReader of [...nodeReaders].sort((left, right) => left.failures() - right.failures())) {
    const answer: RpcAnswer = await nodeReader.ask(method, params)
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
