/** Methods about the total supply of lamports. */
import { type Methods, method, readBearing, withContext } from '../wire/node.ts'
import { readBoolean, readChoice, readConfig } from '../wire/params.ts'

export const supplyMethods: Methods = {
  getSupply: method(0, (params, node) => {
    const config = readConfig(params[0])
    const { slot } = readBearing(config, node)
    let total = 0n
    for (const [, { lamports }] of node.bank.accounts.all(slot)) total += lamports
    // Only the faucet's balance is not circulating. It is the treasury of this chain.
    const kept = node.bank.read(node.faucet.address, slot)?.lamports ?? 0n
    const listed = readBoolean(config, 'excludeNonCirculatingAccountsList', false) ? [] : [node.faucet.address]
    return withContext(slot, { circulating: total - kept, nonCirculating: kept, nonCirculatingAccounts: listed, total })
  }),
  getLargestAccounts: method(0, (params, node) => {
    const config = readConfig(params[0])
    const { slot } = readBearing(config, node)
    const filter = readChoice<'all' | 'circulating' | 'nonCirculating'>(
      config['filter'],
      ['all', 'circulating', 'nonCirculating'],
      'all',
    )
    const found = [...node.bank.accounts.all(slot)]
      .filter(([address]) => filter === 'all' || (address === node.faucet.address) === (filter === 'nonCirculating'))
      .map(([address, { lamports }]) => ({ address, lamports }))
      .sort((left, right) => (left.lamports === right.lamports ? 0 : left.lamports > right.lamports ? -1 : 1))
    return withContext(slot, found.slice(0, 20))
  }),
}
