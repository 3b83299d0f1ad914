/** Whether mints are what the configuration says they are: a wrong decimal would misprice everything a thousandfold. */
import type { Mint } from '../core/network.ts'
import type { MintProbe } from '../core/ports.ts'
import { type Account, absent, readAccount } from './account.ts'
import { isFields, readList } from './json.ts'
import type { Rpc } from './rpc.ts'

const mintBytes = 82
const decimalsOffset = 44
const initializedOffset = 45

export async function probeMints(rpc: Rpc, mints: Readonly<Record<string, Mint>>): Promise<MintProbe> {
  const entries = Object.entries(mints)
  if (entries.length === 0) return { kind: 'good' }
  const config = { encoding: 'base64', commitment: 'confirmed', dataSlice: { offset: 0, length: mintBytes } }
  const answer = await rpc.call('getMultipleAccounts', [entries.map(([, mint]) => mint.address), config])
  if (answer.kind !== 'answered')
    return { kind: 'unknown', why: answer.kind === 'refused' ? answer.message : answer.why }
  const accounts = isFields(answer.result) ? readList(answer.result['value'], readAccount) : undefined
  if (accounts?.length !== entries.length) return { kind: 'unknown', why: 'the accounts cannot be read' }
  const problems = entries.flatMap(([code, mint], index) => {
    const problem = compare(mint, accounts[index])
    return problem === undefined ? [] : [`mints.${code}: ${mint.address} ${problem}`]
  })
  return problems.length === 0 ? { kind: 'good' } : { kind: 'bad', problems }
}

function compare(mint: Mint, account: Account = absent): string | undefined {
  if (account.owner === '') return 'does not exist on this chain'
  if (account.owner !== mint.tokenProgram)
    return `belongs to the program ${account.owner} and not to ${mint.tokenProgram}`
  if (account.data.length < mintBytes || account.data[initializedOffset] !== 1) return 'is not a mint'
  const decimals = account.data[decimalsOffset]
  return decimals === mint.decimals ? undefined : `has ${decimals} decimals and not ${mint.decimals}`
}
