/** Durable nonces: a stored hash that replaces a recent blockhash and is used up by the transaction. */
import { createHash } from 'node:crypto'
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'
import type { Account } from '../accounts/account.ts'
import { programs } from '../accounts/addresses.ts'
import type { Role } from '../transaction/roles.ts'
import type { Message } from '../transaction/wire.ts'
import { lamportsPerSignature } from './sysvars.ts'

export const nonceBytes = 80

export interface NonceState {
  readonly authority: string
  readonly nonce: string
  readonly lamportsPerSignature: bigint
}

export function readNonce(account: Account | undefined): NonceState | undefined {
  if (account?.owner !== programs.system || account.data.length !== nonceBytes) return undefined
  const { data } = account
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (view.getUint32(0, true) !== 1 || view.getUint32(4, true) !== 1) return undefined
  return {
    authority: encodeBase58(data.subarray(8, 40)),
    nonce: encodeBase58(data.subarray(40, 72)),
    lamportsPerSignature: view.getBigUint64(72, true),
  }
}

/** Derives the nonce from a blockhash. It is hashed, so that a nonce never equals a blockhash. */
export function deriveNonce(blockhash: string): string {
  const hash = createHash('sha256')
    .update('DURABLE_NONCE')
    .update(decodeAddress(blockhash) ?? '')
  return encodeBase58(hash.digest())
}

/** The address of the nonce account, if the message uses a nonce. */
export function findNonceAddress(message: Message, roles: readonly Role[]): string | undefined {
  const first = message.instructions[0]
  if (!first || message.keys[first.program] !== programs.system) return undefined
  const { data, accounts } = first
  if (data.length < 4 || data[0] !== 4 || data[1] !== 0 || data[2] !== 0 || data[3] !== 0) return undefined
  const index = accounts[0]
  if (index === undefined || index >= message.keys.length || !roles[index]?.writable) return undefined
  return message.keys[index]
}

/** Whether the stored nonce admits this message: it equals the message's blockhash, and its authority has signed. */
export function nonceAdmits(
  message: Message,
  roles: readonly Role[],
  state: NonceState | undefined,
  next: string,
): boolean {
  if (!state || state.nonce !== message.blockhash || message.blockhash === next) return false
  const accounts = message.instructions[0]?.accounts ?? []
  return accounts.some((index) => roles[index]?.signer && roles[index]?.address === state.authority)
}

export function advanceNonce(account: Account, next: string): Account {
  const data = Uint8Array.from(account.data)
  data.set(decodeAddress(next) ?? new Uint8Array(32), 40)
  new DataView(data.buffer).setBigUint64(72, lamportsPerSignature, true)
  return { ...account, data }
}
