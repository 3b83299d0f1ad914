/** What clients can subscribe to, and when they are told. One hub serves all sockets. */
import type { Account } from '../accounts/account.ts'
import type { Commitment, View } from '../bank/commitment.ts'
import type { TransactionRecord } from '../bank/history.ts'
import { type AccountFormat, readAccountFormat } from './methods/account-data.ts'
import { type Filter, matchesFilters, readFilters } from './methods/account-filters.ts'
import { accountFormatter } from './methods/accounts.ts'
import { type BlockFormat, formatBlock, mentions, readBlockFormat } from './methods/block-data.ts'
import { invalidParams } from './wire/errors.ts'
import type { Node } from './wire/node.ts'
import { type Config, readAddress, readBoolean, readCommitment, readConfig, readSignature } from './wire/params.ts'

export type Topic =
  | {
      readonly kind: 'account'
      readonly address: string
      readonly format: AccountFormat
      readonly commitment: Commitment
    }
  | {
      readonly kind: 'program'
      readonly program: string
      readonly filters: readonly Filter[]
      readonly format: AccountFormat
      readonly commitment: Commitment
    }
  | { readonly kind: 'logs'; readonly mentioned: string | undefined; readonly commitment: Commitment }
  | {
      readonly kind: 'signature'
      readonly signature: string
      readonly received: boolean
      readonly commitment: Commitment
    }
  | {
      readonly kind: 'block'
      readonly mentioned: string | undefined
      readonly format: BlockFormat
      readonly commitment: Commitment
    }
  | { readonly kind: 'slot' }
  | { readonly kind: 'root' }
  | { readonly kind: 'slotsUpdates' }

export interface Notice {
  readonly result: unknown
  /** Nothing follows: the subscription is over. */
  readonly last?: boolean
}

export function readTopic(method: string, params: readonly unknown[]): Topic | undefined {
  switch (method) {
    case 'accountSubscribe': {
      const config = readConfig(params[1])
      const format = readAccountFormat(config)
      return { kind: 'account', address: readAddress(params[0]), format, commitment: readCommitment(config) }
    }
    case 'programSubscribe': {
      const config = readConfig(params[1])
      const filters = readFilters(config['filters'])
      const format = readAccountFormat(config)
      return { kind: 'program', program: readAddress(params[0]), filters, format, commitment: readCommitment(config) }
    }
    case 'logsSubscribe':
      return { kind: 'logs', mentioned: readLogsFilter(params[0]), commitment: readCommitment(readConfig(params[1])) }
    case 'signatureSubscribe': {
      const config = readConfig(params[1])
      const received = readBoolean(config, 'enableReceivedNotification', false)
      return { kind: 'signature', signature: readSignature(params[0]), received, commitment: readCommitment(config) }
    }
    case 'blockSubscribe':
      return readBlockTopic(params[0], readConfig(params[1]))
    case 'slotSubscribe':
      return { kind: 'slot' }
    case 'rootSubscribe':
      return { kind: 'root' }
    case 'slotsUpdatesSubscribe':
      return { kind: 'slotsUpdates' }
    default:
      return undefined
  }
}

function readLogsFilter(value: unknown): string | undefined {
  if (value === 'all' || value === 'allWithVotes') return undefined
  const { mentions: list } = readConfig(value)
  if (!Array.isArray(list) || list.length !== 1) throw invalidParams('Invalid Request: Only 1 address supported')
  return readAddress(list[0])
}

function readBlockTopic(filter: unknown, config: Config): Topic {
  const mentioned = filter === 'all' ? undefined : readAddress(readConfig(filter)['mentionsAccountOrProgram'])
  const commitment = readCommitment(config)
  if (commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`')
  return { kind: 'block', mentioned, format: readBlockFormat(config), commitment }
}

/** The slots that became visible to a commitment: everything after `from`, up to and including `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What a subscriber hears when slots have become visible at its commitment. */
export function noticesOfSpan(topic: Topic, span: Span, node: Node): readonly Notice[] {
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

export function accountNotice(topic: Topic & { kind: 'account' }, slot: number, node: Node): readonly Notice[] {
  const account = node.bank.read(topic.address, slot) ?? gone
  const value = accountFormatter(topic.format, slot, node)(topic.address, account)
  return [{ result: { context: { slot }, value } }]
}

export function programNotice(
  topic: Topic & { kind: 'program' },
  address: string,
  slot: number,
  node: Node,
): readonly Notice[] {
  const account = node.bank.read(address, slot)
  if (account?.owner !== topic.program || !matchesFilters(account, topic.filters)) return []
  const value = { account: accountFormatter(topic.format, slot, node)(address, account), pubkey: address }
  return [{ result: { context: { slot }, value } }]
}

export function logsNotice(
  topic: Topic & { kind: 'logs' },
  record: TransactionRecord,
  slot: number,
): readonly Notice[] {
  if (topic.mentioned !== undefined && !mentions(record, topic.mentioned)) return []
  const value = { err: record.failure ?? null, logs: record.logs, signature: record.signature }
  return [{ result: { context: { slot }, value } }]
}

function blockNotices(topic: Topic & { kind: 'block' }, { from, to }: Span, node: Node): readonly Notice[] {
  const notices: Notice[] = []
  // After a long jump only the latest blocks are told: nobody reads thousands of empty ones.
  for (let slot = Math.max(from + 1, to - 31); slot <= to; slot++) {
    if (!node.bank.timeline.exists(slot)) continue
    const block = formatBlock(slot, topic.format, node, topic.mentioned)
    notices.push({ result: { context: { slot }, value: { block, err: null, slot } } })
  }
  return notices
}
