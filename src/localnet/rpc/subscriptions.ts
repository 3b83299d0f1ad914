/** The subscriptions that clients can open. */
import type { Commitment } from '../bank/commitment.ts'
import { type AccountFormat, readAccountFormat } from './methods/account-data.ts'
import { type Filter, readFilters } from './methods/account-filters.ts'
import { type BlockFormat, readBlockFormat } from './methods/block-data.ts'
import { invalidParams } from './wire/errors.ts'
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
