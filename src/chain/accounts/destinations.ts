/**
 * Reads the token accounts of receiving wallets: whether a plain transfer reaches them, and the cost of opening one.
 */
import { decodeAddress } from '../../core/encoding/base58.ts'
import { type Mint, splTokenProgram } from '../../core/money/tokens.ts'
import type { AccountState } from '../../core/payouts/outgoing-wallet.ts'
import { readU64 } from '../rpc/json.ts'
import type { Call } from '../rpc/rpc.ts'
import { absent, type ChainAccount, readAccounts } from './account.ts'
import { findMintExtension, type MintExtension, readExtensions } from './extensions.ts'
import { readMint } from './mints.ts'
import { findTokenAccount } from './programs.ts'
import { accountBytes, readTokenAccount } from './token-account.ts'

const mintBytes = 82

/** States by wallet. Undefined if no node answers. */
export async function readStates(
  call: Call,
  owners: readonly string[],
  mint: Mint,
): Promise<readonly AccountState[] | undefined> {
  const known = owners.filter((owner) => decodeAddress(owner) !== undefined)
  const addresses = await Promise.all(known.map((owner) => findTokenAccount(owner, mint.address, mint.tokenProgram)))
  const accounts = await readAccounts(call, [mint.address, ...addresses])
  if (!accounts) return undefined
  const [own = absent, ...theirs] = accounts
  const reading = readMint(own, 0n)
  const opensFrozen = reading.kind === 'mint' && reading.traits.opensFrozen
  const states = new Map(known.map((owner, index) => [owner, readState(theirs[index] ?? absent, owner, mint)]))
  return owners.map((owner) => {
    const state = states.get(owner) ?? 'unusable'
    return state === 'missing' && opensFrozen ? 'frozen' : state
  })
}

/** Account extensions, by number, that can refuse a plain transfer, and the byte that tells whether they do. */
const refusals = [
  { type: 5, at: 262, refusesAt: 0, name: 'takes confidential transfers only' },
  { type: 8, at: 0, refusesAt: 1, name: 'requires a memo for each transfer' },
] as const

export function readState(
  account: ChainAccount,
  owner: string,
  mint: Pick<Mint, 'address' | 'tokenProgram'>,
): AccountState {
  const reading = readTokenAccount(account, mint)
  if (reading.kind === 'absent') return 'missing'
  if (reading.kind === 'malformed' || reading.owner !== owner) return 'unusable'
  if (reading.isFrozen) return 'frozen'
  const extensions = readExtensions(account.data, 'account', accountBytes)
  const isRefusing = refusals.some(({ type, at, refusesAt }) => extensions?.get(type)?.[at] === refusesAt)
  return isRefusing ? 'unusable' : 'ready'
}

/** The bytes that extensions of a mint add to each of its accounts. */
const added: Readonly<Partial<Record<MintExtension, number>>> = {
  transferFee: 8,
  nonTransferable: 0,
  transferHook: 1,
  pausable: 0,
}
const entryHead = 4

/** In lamports. Undefined if no node answers, or if the mint has an extension of unknown size. */
export async function readOpeningCost(call: Call, mint: Mint): Promise<bigint | undefined> {
  const bytes = mint.tokenProgram === splTokenProgram ? accountBytes : await readAccountBytes(call, mint)
  if (bytes === undefined) return undefined
  const answer = await call('getMinimumBalanceForRentExemption', [bytes])
  return answer.kind === 'answered' ? readU64(answer.result) : undefined
}

async function readAccountBytes(call: Call, mint: Mint): Promise<number | undefined> {
  const [account] = (await readAccounts(call, [mint.address])) ?? []
  const extensions = account?.owner === mint.tokenProgram ? readExtensions(account.data, 'mint', mintBytes) : undefined
  if (!extensions) return undefined
  // After the account kind, an associated account always has the extension for an immutable owner.
  let bytes = accountBytes + 1 + entryHead
  for (const type of extensions.keys()) {
    const name = findMintExtension(type)
    if (name === undefined) return undefined
    const value = added[name]
    if (value !== undefined) bytes += entryHead + value
  }
  return bytes
}
