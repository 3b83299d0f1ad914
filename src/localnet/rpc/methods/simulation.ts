/** Formats the result of a simulation, alone or as the data of a failed preflight. */
import type { Bank } from '../../bank/bank.ts'
import type { Rejection } from '../../bank/evaluate.ts'
import type { Report } from '../../bank/report.ts'
import { accountParser } from '../../parse/account.ts'
import { listRoles } from '../../transaction/roles.ts'
import type { Transaction } from '../../transaction/wire.ts'
import { invalidParams } from '../wire/errors.ts'
import { type Config, readAddress, readBoolean, readConfig } from '../wire/params.ts'
import { type AccountFormat, formatAccount, readAccountFormat } from './account-data.ts'
import { formatInner, formatReturnData, formatTokenBalances } from './transaction-data.ts'

export interface SimulationFormat {
  readonly accounts: { readonly addresses: readonly string[]; readonly format: AccountFormat } | undefined
  readonly innerInstructions: boolean
}

export function readSimulationFormat(config: Config): SimulationFormat {
  const innerInstructions = readBoolean(config, 'innerInstructions', false)
  const wanted = config['accounts']
  if (wanted === undefined || wanted === null) return { accounts: undefined, innerInstructions }
  const { addresses, ...rest } = readConfig(wanted)
  const format = readAccountFormat(rest, 'base64')
  if (format.encoding === 'binary' || format.encoding === 'base58') throw invalidParams('base58 encoding not supported')
  if (!Array.isArray(addresses)) throw invalidParams('Invalid params: missing field `addresses`.')
  return { accounts: { addresses: addresses.map(readAddress), format }, innerInstructions }
}

export function formatSimulation(
  transaction: Transaction,
  result: Report | Rejection,
  { accounts, innerInstructions }: SimulationFormat,
  bank: Bank,
  slot: number,
): Record<string, unknown> {
  const report = 'outcome' in result ? result : undefined
  const rejection = 'kind' in result ? result : undefined
  const execution = report?.outcome.execution
  const loaded = report?.outcome.loaded ?? rejection?.loaded ?? { writable: [], readonly: [] }
  const returnData = execution?.returnData
  const inner =
    execution && innerInstructions ? formatInner(execution.inner, listRoles(transaction.message, loaded), true) : null
  const tooMany =
    accounts &&
    accounts.addresses.length > transaction.message.keys.length + loaded.writable.length + loaded.readonly.length
  if (tooMany) throw invalidParams(`Too many accounts provided; max ${transaction.message.keys.length}`)
  return {
    accounts: accounts ? formatAccounts(accounts, report, bank, slot) : null,
    err: report?.outcome.failure ?? rejection?.failure ?? null,
    fee: report?.outcome.fee ?? rejection?.fee ?? null,
    innerInstructions: inner,
    loadedAccountsDataSize: report?.outcome.loadedBytes ?? 0,
    loadedAddresses: loaded,
    logs: execution?.logs ?? [],
    postBalances: report?.postBalances ?? null,
    postTokenBalances: report ? formatTokenBalances(report.postTokenBalances) : null,
    preBalances: report?.preBalances ?? null,
    preTokenBalances: report ? formatTokenBalances(report.preTokenBalances) : null,
    replacementBlockhash: null,
    returnData: returnData ? formatReturnData(returnData) : null,
    unitsConsumed: execution?.units ?? 0,
  }
}

function formatAccounts(
  { addresses, format }: NonNullable<SimulationFormat['accounts']>,
  report: Report | undefined,
  bank: Bank,
  slot: number,
): readonly unknown[] {
  if (!report || report.outcome.failure !== undefined) return addresses.map(() => null)
  const changed = new Map(report.outcome.changes)
  const get = (address: string) => (changed.has(address) ? changed.get(address) : bank.read(address, slot))
  return addresses.map((address) => {
    const account = get(address)
    return account ? formatAccount(address, account, format, accountParser(get, bank.timeline.timeOf(slot))) : null
  })
}
