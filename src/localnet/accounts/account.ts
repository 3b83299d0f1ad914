/** An account in memory, and its bytes in the chain's file. */
import { decodeAddress, encodeBase58 } from '../../core/encoding/base58.ts'

export interface Account {
  readonly lamports: bigint
  readonly data: Uint8Array
  readonly owner: string
  readonly executable: boolean
  readonly rentEpoch: bigint
}

/** Rent is no longer collected: an account with a sufficient balance is exempt permanently, marked by this epoch. */
export const exemptForGood = 2n ** 64n - 1n

export function emptyAccount(owner: string, lamports = 0n): Account {
  return { lamports, data: new Uint8Array(), owner, executable: false, rentEpoch: exemptForGood }
}

export function decodeKey(address: string): Uint8Array {
  const bytes = decodeAddress(address)
  if (!bytes) throw new TypeError(`not an address: ${address}`)
  return bytes
}

const headBytes = 8 + 8 + 1 + 32

export function encodeAccount(account: Account): Uint8Array {
  const bytes = new Uint8Array(headBytes + account.data.length)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, account.lamports, true)
  view.setBigUint64(8, account.rentEpoch, true)
  view.setUint8(16, account.executable ? 1 : 0)
  bytes.set(decodeKey(account.owner), 17)
  bytes.set(account.data, headBytes)
  return bytes
}

export function decodeAccount(bytes: Uint8Array): Account {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    lamports: view.getBigUint64(0, true),
    rentEpoch: view.getBigUint64(8, true),
    executable: view.getUint8(16) === 1,
    owner: encodeBase58(bytes.subarray(17, headBytes)),
    data: bytes.slice(headBytes),
  }
}

export function sameAccount(left: Account | undefined, right: Account | undefined): boolean {
  if (left === right) return true
  if (!left || !right) return false
  return (
    left.lamports === right.lamports &&
    left.owner === right.owner &&
    left.executable === right.executable &&
    Buffer.compare(left.data, right.data) === 0
  )
}
