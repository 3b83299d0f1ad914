/**
 * The outcome of a payment that another party completes with its own signature and sends.
 *
 * The id of the transaction is that other signature, so the payer does not know it. The payer's own signature identifies
 * the transaction in the history of the payer's wallet. As in `signature-state.ts`, an answer counts only for the slot
 * that it names: the payment is gone if its blockhash has expired at a final slot, and a node that has reached this slot
 * lists no transaction with the signature, but an earlier one.
 */
import { isFields } from '../../core/encoding/fields.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError, readCount } from '../rpc/json.ts'
import type { Call, Rpc } from '../rpc/rpc.ts'
import { createSignaturePages } from '../rpc/signature-pages.ts'
import { readExpiry } from './signature-state.ts'

export interface CosignedPayment {
  readonly wallet: string
  /** The wallet's own signature, base58. */
  readonly signature: string
  readonly blockhash: string
  /** A final slot at which a node knew the blockhash, before the payment was signed. */
  readonly slot: number
  /** The text of its memo, if it has one. */
  readonly memo: string | undefined
}

export type CosignedFate =
  | { readonly kind: 'landed'; readonly tx: string }
  | { readonly kind: 'failed'; readonly tx: string; readonly error: string }
  /** It is not on chain and can no longer land. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'unknown'; readonly why: string }

/** A blockhash can be older than the slot at which the node reported it, by its lifetime at most. */
const earlierSlots = 300
/** A slot that is final has this many successors. */
const finalitySlots = 32
/** A longer history within a blockhash's lifetime is not credible. */
const mostRows = 10_000
const impossibleSlot = Number.MAX_SAFE_INTEGER
const minContextSlotNotReached = -32016

/**
 * Reads the outcome once. One node that has the transaction is sufficient. `failed` and `expired` permit another
 * payment, so they must be final, and two nodes must confirm them if two are configured.
 */
export async function readCosignedFate(
  { rpc, genesis }: { readonly rpc: Pick<Rpc, 'nodes'>; readonly genesis: string },
  payment: CosignedPayment,
): Promise<CosignedFate> {
  const needed = Math.min(2, rpc.nodes.length)
  let [gone, failed] = [0, 0]
  let why = 'it may still land'
  for (const { call } of rpc.nodes) {
    const fate = await readNode(call, genesis, payment)
    if (fate.kind === 'landed') return fate
    if (fate.kind === 'unknown') why = fate.why
    if (fate.kind === 'failed') failed += 1
    if (fate.kind === 'expired') gone += 1
    if (fate.kind === 'failed' && failed >= needed) return fate
    if (gone >= needed) return { kind: 'expired' }
  }
  return unknown(failed > 0 ? 'only one node reports that it failed' : why)
}

async function readNode(call: Call, genesis: string, payment: CosignedPayment): Promise<CosignedFate> {
  const seen = await searchRecent(call, payment)
  if (seen !== undefined) return (await readGenesis(call)) === genesis ? seen : stranger
  if ((await readGenesis(call)) !== genesis) return stranger
  const expiry = await readExpiry(call, payment.blockhash, payment.slot)
  if (typeof expiry !== 'number') return unknown(expiry.kind === 'open' ? expiry.why : 'it may still land')
  if (!(await refusesImpossibleSlot(call, payment.wallet)))
    return unknown('a node does not report up to which slot it lists transactions')
  // All transactions of the period are read: a node may omit memos.
  const final = await search(call, payment, { commitment: 'finalized', minContextSlot: expiry })
  if (final === 'short') return unknown('a node does not keep enough history')
  if (final !== 'absent') return final
  return (await readGenesis(call)) === genesis ? { kind: 'expired' } : stranger
}

const stranger = unknown('a node belongs to another chain than the transaction')

function unknown(why: string): CosignedFate {
  return { kind: 'unknown', why }
}

/**
 * The outcome, if it is listed. A payment that failed on a dropped fork can land on another, so a failure must be final.
 */
async function searchRecent(call: Call, payment: CosignedPayment): Promise<CosignedFate | undefined> {
  const seen = await search(call, payment, { commitment: 'confirmed' }, payment.memo)
  if (typeof seen === 'string') return undefined
  if (seen.kind !== 'failed') return seen
  const final = await search(call, payment, { commitment: 'finalized' }, payment.memo)
  return typeof final === 'string' ? unknown('it failed in a block that is not final yet') : final
}

/** A list counts for a slot only if the node refuses to list for a slot that it has not reached. */
async function refusesImpossibleSlot(call: Call, wallet: string): Promise<boolean> {
  const config = { commitment: 'finalized', limit: 1, minContextSlot: impossibleSlot }
  const answer = await call('getSignaturesForAddress', [wallet, config])
  return answer.kind === 'refused' && answer.code === minContextSlotNotReached
}

/**
 * Looks for the payment in the wallet's history. With a memo, it reads only transactions that have this memo. `short`: the
 * list does not reach back to a transaction before the payment. The wallet has one, which gave it the money. Another node
 * behind the same address may keep more history, so its first block proves nothing about this list.
 */
async function search(
  call: Call,
  payment: CosignedPayment,
  config: Readonly<Record<string, unknown>>,
  memo?: string,
): Promise<CosignedFate | 'absent' | 'short'> {
  const oldest = payment.slot - earlierSlots
  const pages = createSignaturePages(payment.wallet, config)
  let before: string | undefined
  for (let read = 0; read < mostRows; ) {
    const answer = await pages.ask(call, before)
    if (answer.kind !== 'answered' || !Array.isArray(answer.result)) return unlisted
    const rows = answer.result.map(readRow)
    for (const row of rows) {
      if (!row) return unlisted
      if (row.slot < oldest || (memo !== undefined && row.memo !== undefined && !row.memo.includes(memo))) continue
      const signatures = await readSignatures(call, row.tx, config['commitment'])
      if (!signatures) return unknown('a transaction of the wallet cannot be read')
      if (!signatures.includes(payment.signature)) continue
      return row.err === null
        ? { kind: 'landed', tx: row.tx }
        : { kind: 'failed', tx: row.tx, error: describeError(row.err) }
    }
    const last = rows.at(-1)
    if (last && last.slot < oldest) return 'absent'
    if (!last || rows.length < pages.limit())
      return last && last.slot < payment.slot + finalitySlots ? 'absent' : 'short'
    before = last.tx
    read += rows.length
  }
  return unknown('the wallet has too many transactions')
}

const unlisted = unknown("the wallet's transactions cannot be read")

interface Row {
  readonly tx: string
  readonly slot: number
  readonly err: unknown
  /** All memos of the transaction. Undefined if the node does not report memos. */
  readonly memo: string | undefined
}

function readRow(row: unknown): Row | undefined {
  const slot = isFields(row) ? readCount(row['slot']) : undefined
  if (!isFields(row) || typeof row['signature'] !== 'string' || slot === undefined || row['err'] === undefined)
    return undefined
  const { signature: tx, err, memo } = row
  return { tx: String(tx), slot, err, memo: memo === null ? '' : typeof memo === 'string' ? memo : undefined }
}

async function readSignatures(call: Call, tx: string, commitment: unknown): Promise<readonly unknown[] | undefined> {
  const config = { encoding: 'json', maxSupportedTransactionVersion: 1, commitment }
  const answer = await call('getTransaction', [tx, config])
  // The report on a plain payment is short, so this is another transaction.
  if (answer.kind === 'unavailable' && answer.isTooLarge) return []
  const transaction = answer.kind === 'answered' && isFields(answer.result) ? answer.result['transaction'] : undefined
  const signatures = isFields(transaction) ? transaction['signatures'] : undefined
  return Array.isArray(signatures) ? signatures : undefined
}
