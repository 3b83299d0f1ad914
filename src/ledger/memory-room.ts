/** Everything that the ledger in memory holds, for the parts of it to look at and change. */
import type { TokenCode } from '../core/network.ts'
import type { PaymentRecord, Sighting, Usage } from '../core/ports.ts'
import type { Account, Lease } from './account.ts'

export interface Entry {
  readonly record: PaymentRecord
  readonly account: Account
  readonly leases: ReadonlyMap<bigint, Lease>
}

/** All of it by the transaction, as `keyOf` writes it. */
export interface Room {
  readonly entries: Map<string, Entry>
  readonly seen: Map<string, Sighting>
  readonly usage: Map<string, Usage>
  reportToken: TokenCode | undefined
}

export function createRoom(reportToken: TokenCode | undefined): Room {
  return { entries: new Map(), seen: new Map(), usage: new Map(), reportToken }
}

export function keyOf(tx: Uint8Array): string {
  return String.fromCharCode(...tx)
}
