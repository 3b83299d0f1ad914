/** Methods about the past: transactions, their statuses, and the signatures of an address. */
import { findCommitment, type View } from '../../bank/commitment.ts'
import type { TransactionRecord } from '../../bank/history.ts'
import { invalidParams } from '../wire/errors.ts'
import { type Bearing, type Methods, method, type Node, readBearing, withContext } from '../wire/node.ts'
import type { Config } from '../wire/params.ts'
import { readAddress, readBoolean, readConfig, readOptionalInteger, readSignature, wrongType } from '../wire/params.ts'
import { formatTransaction, readTransactionFormat } from './transaction-data.ts'

const maxStatuses = 256
const maxSignatures = 1000
/** Statuses of older slots require a search of the history. */
const statusCacheSlots = 300

/** History starts at confirmed, because a transaction that is only processed can still vanish. */
export function readHistoryBearing(config: Config, node: Node): Bearing {
  const bearing = readBearing(config, node)
  if (bearing.commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`')
  return bearing
}

export function readBlockTime(slot: number, { bank }: Node): number {
  return Math.floor(bank.timeline.timeOf(slot) / 1000)
}

/** Methods of history also accept a bare encoding as configuration. */
export function readHistoryConfig(value: unknown): Config {
  return typeof value === 'string' ? { encoding: value } : readConfig(value)
}

function getTransaction(params: readonly unknown[], node: Node): unknown {
  const signature = readSignature(params[0])
  const config = readHistoryConfig(params[1])
  const format = readTransactionFormat(config)
  const { slot } = readHistoryBearing(config, node)
  const record = node.bank.history.find(signature)
  if (!record || record.slot > slot) return null
  return { slot: record.slot, ...formatTransaction(record, format), blockTime: readBlockTime(record.slot, node) }
}

function statuses(params: readonly unknown[], node: Node): unknown {
  const list = params[0]
  if (!Array.isArray(list)) throw wrongType(list, 'a sequence')
  if (list.length > maxStatuses) throw invalidParams(`Too many inputs provided; max ${maxStatuses}`)
  const signatures = list.map(readSignature)
  const deep = readBoolean(readConfig(params[1]), 'searchTransactionHistory', false)
  const view = node.view()
  const oldest = deep ? 0 : view.processed - statusCacheSlots
  return withContext(
    view.processed,
    signatures.map((signature) => {
      const record = node.bank.history.find(signature)
      return record && record.slot <= view.processed && record.slot >= oldest ? readStatus(record, view) : null
    }),
  )
}

function readStatus({ slot, failure }: TransactionRecord, view: View): unknown {
  const confirmationStatus = findCommitment(slot, view)
  return {
    confirmationStatus,
    confirmations: confirmationStatus === 'finalized' ? null : view.processed - slot,
    err: failure ?? null,
    slot,
    status: failure === undefined ? { Ok: null } : { Err: failure },
  }
}

function signaturesForAddress(params: readonly unknown[], node: Node): unknown {
  const address = readAddress(params[0])
  const config = readConfig(params[1])
  const limit = readOptionalInteger(config, 'limit') ?? maxSignatures
  if (limit === 0 || limit > maxSignatures) throw invalidParams(`Invalid limit; max ${maxSignatures}`)
  const { slot, view } = readHistoryBearing(config, node)
  const before = findPlace(config['before'], node) ?? { slot: slot + 1, position: -1 }
  const after = findPlace(config['until'], node) ?? { slot: -1, position: -1 }
  const newest = before.slot > slot ? { slot: slot + 1, position: -1 } : before
  return node.bank.history.ofAddress(address, newest, after, limit).map((record) => ({
    blockTime: readBlockTime(record.slot, node),
    confirmationStatus: findCommitment(record.slot, view),
    err: record.failure ?? null,
    memo: record.memo ?? null,
    signature: record.signature,
    slot: record.slot,
    transactionIndex: record.position,
  }))
}

function findPlace(value: unknown, { bank }: Node): TransactionRecord | undefined {
  return value === undefined || value === null ? undefined : bank.history.find(readSignature(value))
}

export const historyMethods: Methods = {
  getTransaction: method(1, getTransaction),
  getSignatureStatuses: method(1, statuses),
  getSignaturesForAddress: method(1, signaturesForAddress),
}
