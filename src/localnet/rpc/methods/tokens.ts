/** Methods about tokens: accounts of an owner or a delegate, balances, supply. */
import { encodeBase58 } from '../../../core/encoding/base58.ts'
import type { Account } from '../../accounts/account.ts'
import { readTokenParties } from '../../accounts/accounts.ts'
import { tokenPrograms } from '../../accounts/addresses.ts'
import { amountFormatter } from '../../parse/token-account.ts'
import { formatTokenAmount, readMint, uiAmount } from '../../transaction/token-balances.ts'
import { invalidParams } from '../wire/errors.ts'
import { type Bearing, type Methods, method, type Node, readBearing, withContext } from '../wire/node.ts'
import { readAddress, readConfig } from '../wire/params.ts'
import { readAccountFormat } from './account-data.ts'
import { formatKeyed } from './accounts.ts'

/** Selects token accounts by mint or by token program. */
function readTokenFilter(value: unknown, { bank }: Node, slot: number): (account: Account) => boolean {
  const { mint, programId } = readConfig(value)
  if (typeof mint === 'string') {
    const address = readAddress(mint)
    if (!readMint(bank.read(address, slot))) throw invalidParams('Invalid param: could not find mint')
    return (account) => readTokenParties(account)?.mint === address
  }
  const program = readAddress(programId)
  if (!tokenPrograms.has(program)) throw invalidParams('Invalid param: unrecognized Token program id')
  return (account) => account.owner === program
}

function tokenAccounts(
  params: readonly unknown[],
  node: Node,
  find: (address: string, bearing: Bearing) => Iterable<readonly [string, Account]>,
): unknown {
  const address = readAddress(params[0])
  const config = readConfig(params[2])
  const format = readAccountFormat(config)
  const bearing = readBearing(config, node)
  const wanted = readTokenFilter(params[1], node, bearing.slot)
  const found = [...find(address, bearing)].filter(([, account]) => wanted(account))
  return withContext(bearing.slot, formatKeyed(found, format, bearing, node))
}

function* delegatedTo(delegate: string, { slot }: Bearing, { bank }: Node): Iterable<readonly [string, Account]> {
  for (const program of tokenPrograms) {
    for (const entry of bank.accounts.ownedBy(program, slot)) {
      if (readTokenParties(entry[1]) && readDelegate(entry[1]) === delegate) yield entry
    }
  }
}

function readDelegate({ data }: Account): string | undefined {
  return data[72] === 1 ? encodeBase58(data.subarray(76, 108)) : undefined
}

function largest(params: readonly unknown[], node: Node): unknown {
  const mint = readAddress(params[0])
  const { slot } = readBearing(readConfig(params[1]), node)
  const decimals = readMint(node.bank.read(mint, slot))?.decimals
  if (decimals === undefined) throw invalidParams('Invalid param: not a Token mint')
  const holders = [...node.bank.accounts.tokensOfMint(mint, slot)]
    .map(([address, account]) => ({ address, amount: formatTokenAmount(account) }))
    .sort((left, right) => (left.amount === right.amount ? 0 : left.amount > right.amount ? -1 : 1))
    .slice(0, 20)
  return withContext(
    slot,
    holders.map(({ address, amount }) => ({ address, ...uiAmount(amount, decimals) })),
  )
}

function readNamed(params: readonly unknown[], node: Node) {
  const address = readAddress(params[0])
  const { slot } = readBearing(readConfig(params[1]), node)
  const account = node.bank.read(address, slot)
  if (!account) throw invalidParams('Invalid param: could not find account')
  return { account, slot }
}

export const tokenMethods: Methods = {
  getTokenAccountsByOwner: method(2, (params, node) =>
    tokenAccounts(params, node, (owner, { slot }) => node.bank.accounts.tokensOf(owner, slot)),
  ),
  getTokenAccountsByDelegate: method(2, (params, node) =>
    tokenAccounts(params, node, (delegate, bearing) => delegatedTo(delegate, bearing, node)),
  ),
  getTokenAccountBalance: method(1, (params, node) => {
    const { account, slot } = readNamed(params, node)
    const parties = readTokenParties(account)
    const money = parties && amountFormatter(node.bank.read(parties.mint, slot), node.bank.timeline.timeOf(slot))
    if (!money) throw invalidParams('Invalid param: not a Token account')
    return withContext(slot, money(formatTokenAmount(account)))
  }),
  getTokenSupply: method(1, (params, node) => {
    const { account, slot } = readNamed(params, node)
    const mint = readMint(account)
    if (!mint) throw invalidParams('Invalid param: not a Token mint')
    return withContext(slot, uiAmount(mint.supply, mint.decimals))
  }),
  getTokenLargestAccounts: method(1, largest),
}
