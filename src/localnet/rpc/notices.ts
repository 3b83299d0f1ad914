/** The notifications of a subscription: immediately for processed transactions, or when slots become visible. */
import type { Account } from '../accounts/account.ts'
import type { View } from '../bank/commitment.ts'
import type { TransactionRecord } from '../bank/history.ts'
import { matchesFilters } from './methods/account-filters.ts'
import { accountFormatter } from './methods/accounts.ts'
import { formatBlock, mentions } from './methods/block-data.ts'
import type { Topic } from './subscriptions.ts'
import type { Node } from './wire/node.ts'

export interface Notice {
  readonly result: unknown
  /** The last notification of a subscription. */
  readonly last?: boolean
}

/** For a processed transaction. `changed` are the accounts that its slot has changed. */
export function createProcessedNotices(
  topic: Topic,
  record: TransactionRecord,
  changed: ReadonlySet<string>,
  node: Node,
): readonly Notice[] {
  if (!('commitment' in topic) || topic.commitment !== 'processed') return []
  const { slot } = record
  const touched = record.changed.filter((address) => changed.has(address))
  if (topic.kind === 'logs') return logsNotice(topic, record, slot)
  if (topic.kind === 'signature')
    return topic.signature === record.signature ? signatureNotice(topic, node.bank.view(), node) : []
  if (topic.kind === 'account') return touched.includes(topic.address) ? accountNotice(topic, slot, node) : []
  if (topic.kind === 'program') return touched.flatMap((address) => programNotice(topic, address, slot, node))
  return []
}

/** The chain moved from one slot to another. `seen` is the view before, `view` the view now. */
export interface Move {
  readonly from: number
  readonly to: number
  readonly seen: View
  readonly view: View
}

export function createMovedNotices(topic: Topic, move: Move, node: Node): readonly Notice[] {
  const { seen, view } = move
  if (topic.kind === 'slot') return createSlotNotices(move, node)
  if (topic.kind === 'root') return latestSlots(seen.finalized, view.finalized, node).map((slot) => ({ result: slot }))
  if (topic.kind === 'slotsUpdates') return createUpdateNotices(move, node)
  if (topic.commitment === 'processed') return []
  if (topic.kind === 'signature') return signatureNotice(topic, view, node)
  return createSpanNotices(topic, { from: seen[topic.commitment], to: view[topic.commitment] }, node)
}

/** After a long jump, only this many of the latest slots are reported one by one. */
const toldSlots = 32

function latestSlots(after: number, upTo: number, { bank }: Node): readonly number[] {
  const slots: number[] = []
  for (let slot = Math.max(after + 1, upTo - toldSlots + 1); slot <= upTo; slot++)
    if (bank.timeline.exists(slot)) slots.push(slot)
  return slots
}

function createSlotNotices({ from, to, view }: Move, node: Node): readonly Notice[] {
  return latestSlots(from, to, node).map((slot) => ({
    result: { parent: node.bank.timeline.parentOf(slot), root: Math.min(view.finalized, Math.max(0, slot - 32)), slot },
  }))
}

function createUpdateNotices({ from, to, seen, view }: Move, node: Node): readonly Notice[] {
  const { bank } = node
  const timestamp = bank.now()
  const update = (type: string, slot: number, rest = {}): Notice => ({ result: { slot, timestamp, type, ...rest } })
  return [
    ...latestSlots(from - 1, to - 1, node).map((slot) =>
      update('frozen', slot, { stats: countTransactions(slot, node) }),
    ),
    ...latestSlots(seen.confirmed, view.confirmed, node).map((slot) => update('optimisticConfirmation', slot)),
    ...latestSlots(seen.finalized, view.finalized, node).map((slot) => update('root', slot)),
    ...latestSlots(from, to, node).map((slot) => update('createdBank', slot, { parent: bank.timeline.parentOf(slot) })),
  ]
}

function countTransactions(slot: number, { bank }: Node): Record<string, number> {
  const records = bank.history.inSlot(slot)
  const failed = records.filter(({ failure }) => failure !== undefined).length
  return {
    maxTransactionsPerEntry: records.length === 0 ? 0 : 1,
    numFailedTransactions: failed,
    numSuccessfulTransactions: records.length - failed,
    numTransactionEntries: records.length,
  }
}

/** The slots that became visible at a commitment: after `from`, up to and including `to`. */
interface Span {
  readonly from: number
  readonly to: number
}

/** For slots that became visible at the subscriber's commitment. */
function createSpanNotices(topic: Topic, span: Span, node: Node): readonly Notice[] {
  switch (topic.kind) {
    case 'account':
      return changedAccounts(span, node).has(topic.address) ? accountNotice(topic, span.to, node) : []
    case 'program':
      return [...changedAccounts(span, node)].flatMap((address) => programNotice(topic, address, span.to, node))
    case 'logs':
      return node.bank.history.between(span.from, span.to).flatMap((record) => logsNotice(topic, record, record.slot))
    case 'block':
      return blockNotices(topic, span, node)
    default:
      return []
  }
}

export function signatureNotice(topic: Topic & { kind: 'signature' }, view: View, node: Node): readonly Notice[] {
  const record = node.bank.history.find(topic.signature)
  const slot = view[topic.commitment]
  if (!record || record.slot > slot) return []
  return [{ result: { context: { slot }, value: { err: record.failure ?? null } }, last: true }]
}

function changedAccounts({ from, to }: Span, { bank }: Node): Set<string> {
  const changed = new Set<string>()
  for (const slot of bank.accounts.changedSlots()) {
    if (slot > from && slot <= to) for (const address of bank.accounts.changedIn(slot)) changed.add(address)
  }
  return changed
}

const gone: Account = {
  lamports: 0n,
  data: new Uint8Array(),
  owner: '11111111111111111111111111111111',
  executable: false,
  rentEpoch: 0n,
}

function accountNotice(topic: Topic & { kind: 'account' }, slot: number, node: Node): readonly Notice[] {
  const account = node.bank.read(topic.address, slot) ?? gone
  const value = accountFormatter(topic.format, slot, node)(topic.address, account)
  return [{ result: { context: { slot }, value } }]
}

function programNotice(topic: Topic & { kind: 'program' }, address: string, slot: number, node: Node) {
  const account = node.bank.read(address, slot)
  if (account?.owner !== topic.program || !matchesFilters(account, topic.filters)) return []
  const value = { account: accountFormatter(topic.format, slot, node)(address, account), pubkey: address }
  return [{ result: { context: { slot }, value } }]
}

function logsNotice(topic: Topic & { kind: 'logs' }, record: TransactionRecord, slot: number): readonly Notice[] {
  if (topic.mentioned !== undefined && !mentions(record, topic.mentioned)) return []
  const value = { err: record.failure ?? null, logs: record.logs, signature: record.signature }
  return [{ result: { context: { slot }, value } }]
}

function blockNotices(topic: Topic & { kind: 'block' }, { from, to }: Span, node: Node): readonly Notice[] {
  return latestSlots(from, to, node).map((slot) => {
    const block = formatBlock(slot, topic.format, node, topic.mentioned)
    return { result: { context: { slot }, value: { block, err: null, slot } } }
  })
}
