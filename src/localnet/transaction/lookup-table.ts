/** Address lookup tables: the addresses behind the indexes of a v0 message. */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Account } from '../accounts/account.ts'
import { programs } from '../accounts/addresses.ts'
import type { LoadedAddresses } from './roles.ts'
import type { Lookup } from './wire.ts'

const metaBytes = 56
const never = 2n ** 64n - 1n

export interface LookupTable {
  readonly deactivationSlot: bigint
  readonly lastExtendedSlot: bigint
  readonly lastExtendedStartIndex: number
  readonly authority: string | undefined
  readonly addresses: readonly string[]
}

export function readLookupTable(data: Uint8Array): LookupTable | undefined {
  if (data.length < metaBytes || (data.length - metaBytes) % 32 !== 0) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (view.getUint32(0, true) !== 1) return undefined
  const addresses: string[] = []
  for (let at = metaBytes; at < data.length; at += 32) addresses.push(encodeBase58(data.subarray(at, at + 32)))
  return {
    deactivationSlot: view.getBigUint64(4, true),
    lastExtendedSlot: view.getBigUint64(12, true),
    lastExtendedStartIndex: view.getUint8(20),
    authority: view.getUint8(21) === 1 ? encodeBase58(data.subarray(22, 54)) : undefined,
    addresses,
  }
}

export interface LookupParts {
  readonly slot: number
  get(address: string): Account | undefined
  /** Whether a slot is among the recent ones with a hash that programs can see. */
  isRecent(slot: bigint): boolean
}

/** The addresses that a message loads, or the name of the error. */
export function loadAddresses(lookups: readonly Lookup[], parts: LookupParts): LoadedAddresses | string {
  const writable: string[] = []
  const readonly: string[] = []
  for (const lookup of lookups) {
    const account = parts.get(lookup.table)
    if (!account) return 'AddressLookupTableNotFound'
    if (account.owner !== programs.lookupTable) return 'InvalidAddressLookupTableOwner'
    const table = readLookupTable(account.data)
    if (!table) return 'InvalidAddressLookupTableData'
    if (!isActive(table, parts)) return 'AddressLookupTableNotFound'
    // Addresses added in this slot cannot be used in it.
    const usable = BigInt(parts.slot) > table.lastExtendedSlot ? table.addresses.length : table.lastExtendedStartIndex
    for (const [indexes, found] of [
      [lookup.writable, writable],
      [lookup.readonly, readonly],
    ] as const) {
      for (const index of indexes) {
        const address = index < usable ? table.addresses[index] : undefined
        if (address === undefined) return 'InvalidAddressLookupTableIndex'
        found.push(address)
      }
    }
  }
  return { writable, readonly }
}

function isActive({ deactivationSlot }: LookupTable, { slot, isRecent }: LookupParts): boolean {
  return deactivationSlot === never || deactivationSlot === BigInt(slot) || isRecent(deactivationSlot)
}
