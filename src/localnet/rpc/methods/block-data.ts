/** Formats blocks for RPC responses. */
import { encodeBase58 } from '../../../core/encoding/base58.ts'
import type { TransactionRecord } from '../../bank/history.ts'
import { listRoles } from '../../transaction/roles.ts'
import { unsupportedVersion } from '../wire/errors.ts'
import type { Node } from '../wire/node.ts'
import { type Config, readBoolean, readChoice } from '../wire/params.ts'
import {
  formatOutcome,
  formatRoles,
  formatTokenBalances,
  formatTransaction,
  openTransaction,
  readTransactionFormat,
  type TransactionFormat,
} from './transaction-data.ts'

export interface BlockFormat extends TransactionFormat {
  readonly details: 'full' | 'accounts' | 'signatures' | 'none'
  readonly rewards: boolean
}

export function readBlockFormat(config: Config): BlockFormat {
  const details = ['full', 'signatures', 'none', 'accounts'] as const
  return {
    ...readTransactionFormat(config),
    details: readChoice<BlockFormat['details']>(config['transactionDetails'], details, 'full'),
    // Subscriptions use `showRewards`, the method uses `rewards`.
    rewards: readBoolean(config, 'rewards', readBoolean(config, 'showRewards', true)),
  }
}

export function formatBlock(
  slot: number,
  format: BlockFormat,
  node: Node,
  mentioned?: string,
): Record<string, unknown> {
  const { timeline, history, identity } = node.bank
  const parent = timeline.parentOf(slot)
  const all = history.inSlot(slot)
  const records = mentioned === undefined ? all : all.filter((record) => mentions(record, mentioned))
  const reward = history.reward(slot)
  const rewards = reward ? [{ commission: null, ...reward, pubkey: identity, rewardType: 'Fee' }] : []
  return {
    blockHeight: timeline.heightOf(slot),
    blockTime: Math.floor(timeline.timeOf(slot) / 1000),
    blockhash: timeline.blockhashOf(slot),
    parentSlot: parent,
    // The genesis block has no parent, so its previous hash is the genesis hash.
    previousBlockhash: slot === 0 ? node.genesisHash : timeline.blockhashOf(parent),
    ...(format.rewards ? { rewards } : {}),
    ...formatTransactions(records, format),
  }
}

function formatTransactions(records: readonly TransactionRecord[], format: BlockFormat): Record<string, unknown> {
  switch (format.details) {
    case 'none':
      return {}
    case 'signatures':
      return { signatures: records.map(({ signature }) => signature) }
    case 'accounts':
      return { transactions: records.map((record) => formatAccountsOnly(record, format)) }
    case 'full':
      return { transactions: records.map((record) => formatTransaction(record, format, format.rewards)) }
  }
}

function formatAccountsOnly(record: TransactionRecord, { maxVersion, rewards }: BlockFormat): unknown {
  const { message, signatures } = openTransaction(record)
  const { version } = message
  if (version !== 'legacy' && (maxVersion === undefined || version > maxVersion)) throw unsupportedVersion(version)
  return {
    transaction: {
      accountKeys: formatRoles(listRoles(message, record.loaded)),
      signatures: signatures.map(encodeBase58),
    },
    meta: {
      ...formatOutcome(record),
      preTokenBalances: formatTokenBalances(record.preTokenBalances),
      postTokenBalances: formatTokenBalances(record.postTokenBalances),
      ...(rewards ? { rewards: [] } : {}),
    },
    ...(maxVersion === undefined ? {} : { version }),
  }
}

export function mentions(record: TransactionRecord, address: string): boolean {
  const { keys } = openTransaction(record).message
  return keys.includes(address) || record.loaded.writable.includes(address) || record.loaded.readonly.includes(address)
}
