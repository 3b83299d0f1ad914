/** Lists the transactions of a wallet, so that a worker can compare them with its ledger. */
import { isFields } from '../../core/encoding/fields.ts'
import type { ListedTransaction, RecentBlockhash, WalletHistory } from '../../core/payouts/outgoing-wallet.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import { memoProgram } from '../accounts/programs.ts'
import { listPayments, readFinalizedSlot } from '../read/address-signatures.ts'
import { createNodeReader, type NodeReader } from '../read/node-reader.ts'
import { readCount } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { readLifetime } from '../send/send.ts'
import { readExpiry } from '../send/signature-state.ts'

export interface WalletHistoryParts {
  readonly rpc: Pick<Rpc, 'nodes'>
  readonly genesis: string
  readonly verifier: Verifier
  readonly clock: Clock
  readonly log: Log
}

export function createWalletHistory(wallet: string, { rpc, genesis, ...parts }: WalletHistoryParts): WalletHistory {
  const nodeReaders = rpc.nodes.map((node) => createNodeReader({ node, pin: { hash: genesis }, ...parts }))
  return {
    wallet,
    list: (after) => list(nodeReaders, wallet, after),
    hasSent: (signature) => hasSent(nodeReaders, wallet, signature),
    readBlockhash: async () => {
      const all = await Promise.all(nodeReaders.map(({ ask }) => readLifetime({ call: ask })))
      // The newest one, because a lagging node would report a blockhash that expires earlier than others.
      return all.reduce((best, one) => (one && one.slot > (best?.slot ?? -1) ? one : best), undefined)
    },
    readExpiry: (recent) => readFirstExpiry(nodeReaders, recent),
  }
}

const mostMemos = 100

async function list(nodeReaders: readonly NodeReader[], wallet: string, after: number) {
  const slot = await readFinalizedSlot(nodeReaders)
  if (slot === undefined || slot < after) return undefined
  const found = new Map<string, ListedTransaction>()
  let answers = 0
  for (const nodeReader of nodeReaders) {
    if (!(await keepsHistory(nodeReader, after)) || !(await reportsMemos(nodeReader))) continue
    const listed = await listPayments([nodeReader], wallet, { signature: '', slot: after + 1 }, slot)
    if (!listed) continue
    for (const one of listed) if (one.memos !== '' && one.slot <= slot) found.set(one.signature, one)
    answers += 1
    if (answers >= Math.min(2, nodeReaders.length)) return { slot, transactions: [...found.values()] }
  }
  return undefined
}

/** A node that forgot the blocks after a slot would hide their transactions. */
async function keepsHistory({ ask }: NodeReader, after: number): Promise<boolean> {
  if (after === 0) return true
  const answer = await ask('getFirstAvailableBlock', [])
  const first = answer.kind === 'answered' ? readCount(answer.result) : undefined
  return first !== undefined && first <= after + 1
}

/**
 * A node that lists transactions without their memos would hide the transactions of the wallet. Almost all transactions of
 * the memo program have a memo.
 */
async function reportsMemos({ ask }: NodeReader): Promise<boolean> {
  const answer = await ask('getSignaturesForAddress', [memoProgram, { commitment: 'finalized', limit: mostMemos }])
  const rows: unknown = answer.kind === 'answered' ? answer.result : undefined
  if (!Array.isArray(rows)) return false
  return rows.length === 0 || rows.some((row) => isFields(row) && typeof row['memo'] === 'string')
}

/** A transaction that no node can report in a readable form was not sent by the wallet, which sends plain transfers. */
async function hasSent(nodeReaders: readonly NodeReader[], wallet: string, signature: string) {
  let isUnreadable = true
  for (const nodeReader of nodeReaders) {
    const reading = await nodeReader.read(signature, new Map(), 'finalized')
    if (reading.kind === 'found') return reading.effect.feePayer === wallet && !reading.effect.failed
    isUnreadable &&= reading.kind === 'unavailable' && reading.isUnreadable === true && !reading.soon
  }
  return isUnreadable ? false : undefined
}

async function readFirstExpiry(nodeReaders: readonly NodeReader[], { blockhash, slot }: RecentBlockhash) {
  for (const { ask } of nodeReaders) {
    const expiry = await readExpiry(ask, blockhash, slot)
    if (typeof expiry === 'number') return expiry
  }
  return undefined
}
