/** Methods that read accounts. */
import { type Account, decodeKey } from '../../accounts/account.ts'
import { accountParser } from '../../parse/account.ts'
import { invalidParams } from '../wire/errors.ts'
import { type Bearing, type Methods, method, type Node, readBearing, withContext } from '../wire/node.ts'
import { readAddress, readBoolean, readConfig, wrongType } from '../wire/params.ts'
import { type AccountFormat, formatAccount, readAccountFormat } from './account-data.ts'
import { matchesFilters, readFilters } from './account-filters.ts'

const maxMultipleAccounts = 100

/** Formats accounts as of one slot. */
export function accountFormatter(format: AccountFormat, slot: number, { bank }: Node) {
  const parse = accountParser((address) => bank.read(address, slot), bank.timeline.timeOf(slot))
  return (address: string, account: Account) => formatAccount(address, account, format, parse)
}

/** A list of accounts, with or without its slot, as requested. */
export function formatKeyed(
  found: Iterable<readonly [string, Account]>,
  format: AccountFormat,
  { slot }: Bearing,
  node: Node,
): readonly unknown[] {
  const show = accountFormatter(format, slot, node)
  return [...found].map(([pubkey, account]) => ({ account: show(pubkey, account), pubkey }))
}

/** Sorted by bytes, which differs from the order of the text. */
function sortByAddress<T extends readonly [string, unknown]>(entries: readonly T[]): readonly T[] {
  return entries
    .map((entry) => ({ entry, bytes: decodeKey(entry[0]) }))
    .sort((left, right) => Buffer.compare(left.bytes, right.bytes))
    .map(({ entry }) => entry)
}

export const accountMethods: Methods = {
  getBalance: method(1, (params, node) => {
    const address = readAddress(params[0])
    const { slot } = readBearing(readConfig(params[1]), node)
    return withContext(slot, node.bank.read(address, slot)?.lamports ?? 0)
  }),
  getAccountInfo: method(1, (params, node) => {
    const address = readAddress(params[0])
    const config = readConfig(params[1])
    const format = readAccountFormat(config)
    const { slot } = readBearing(config, node)
    const account = node.bank.read(address, slot)
    return withContext(slot, account ? accountFormatter(format, slot, node)(address, account) : null)
  }),
  getMultipleAccounts: method(1, (params, node) => {
    const list = params[0]
    if (!Array.isArray(list)) throw wrongType(list, 'a sequence')
    if (list.length > maxMultipleAccounts) throw invalidParams(`Too many inputs provided; max ${maxMultipleAccounts}`)
    const addresses = list.map(readAddress)
    const config = readConfig(params[1])
    const format = readAccountFormat(config, 'base64')
    const { slot } = readBearing(config, node)
    const show = accountFormatter(format, slot, node)
    return withContext(
      slot,
      addresses.map((address) => {
        const account = node.bank.read(address, slot)
        return account ? show(address, account) : null
      }),
    )
  }),
  getProgramAccounts: method(1, (params, node) => {
    const program = readAddress(params[0])
    const config = readConfig(params[1])
    const format = readAccountFormat(config)
    const filters = readFilters(config['filters'])
    const bearing = readBearing(config, node)
    const found = [...node.bank.accounts.ownedBy(program, bearing.slot)].filter(([, account]) =>
      matchesFilters(account, filters),
    )
    const ordered = readBoolean(config, 'sortResults', true) ? sortByAddress(found) : found
    const list = formatKeyed(ordered, format, bearing, node)
    return readBoolean(config, 'withContext', false) ? withContext(bearing.slot, list) : list
  }),
}
