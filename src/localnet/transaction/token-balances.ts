/** Reads balances of token accounts and decimals of mints, under either token program. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Account } from '../accounts/account.ts'
import { readTokenParties } from '../accounts/accounts.ts'
import { tokenPrograms, wrappedSol } from '../accounts/addresses.ts'
import type { Role } from './roles.ts'
import type { Message } from './wire.ts'

export interface TokenBalance {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly amount: bigint
  readonly decimals: number
}

export interface Mint {
  readonly authority: string | undefined
  readonly supply: bigint
  readonly decimals: number
  readonly freezeAuthority: string | undefined
}

export function readMint(account: Account | undefined): Mint | undefined {
  if (!account || !tokenPrograms.has(account.owner)) return undefined
  const { data } = account
  const extended = data.length > 165 && data.length !== 355 && data[165] === 1
  if ((data.length !== 82 && !extended) || data[45] !== 1) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  return {
    authority: view.getUint32(0, true) === 1 ? encodeBase58(data.subarray(4, 36)) : undefined,
    supply: view.getBigUint64(36, true),
    decimals: view.getUint8(44),
    freezeAuthority: view.getUint32(46, true) === 1 ? encodeBase58(data.subarray(50, 82)) : undefined,
  }
}

export function formatTokenAmount(account: Account): bigint {
  const { data } = account
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(64, true)
}

/**
 * The token balances that a validator reports with a transaction: those of every token account among its accounts,
 * unless the account is called as a program. They are reported only if the transaction names a token program.
 */
export function listTokenBalances(
  message: Message,
  roles: readonly Role[],
  get: (address: string) => Account | undefined,
): readonly TokenBalance[] {
  if (!roles.some(({ address }) => tokenPrograms.has(address))) return []
  const invoked = new Set(message.instructions.map(({ program }) => program))
  const balances: TokenBalance[] = []
  for (const [accountIndex, { address }] of roles.entries()) {
    if (invoked.has(accountIndex) || tokenPrograms.has(address)) continue
    const account = get(address)
    const parties = account && readTokenParties(account)
    if (!parties) continue
    const decimals = parties.mint === wrappedSol ? 9 : readMint(get(parties.mint))?.decimals
    if (decimals === undefined) continue
    const amount = formatTokenAmount(account)
    balances.push({
      accountIndex,
      mint: parties.mint,
      owner: parties.wallet,
      programId: account.owner,
      amount,
      decimals,
    })
  }
  return balances
}

/** An amount in the format of RPC responses. The float is for display only. */
export function uiAmount(amount: bigint, decimals: number): Record<string, unknown> {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const text = fraction === '' ? whole : `${whole}.${fraction}`
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text }
}
