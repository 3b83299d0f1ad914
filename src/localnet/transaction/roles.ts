/** The full list of accounts a transaction names, with what it may do to each. */
import { programs, reserved } from '../accounts/addresses.ts'
import type { Message } from './wire.ts'

export interface Role {
  readonly address: string
  readonly signer: boolean
  readonly writable: boolean
  readonly source: 'transaction' | 'lookupTable'
}

/** Addresses found in lookup tables: all writable ones first, then all readable ones, each in the order of lookups. */
export interface LoadedAddresses {
  readonly writable: readonly string[]
  readonly readonly: readonly string[]
}

export function listRoles(message: Message, loaded: LoadedAddresses): readonly Role[] {
  const { keys, signers, readonlySigners, readonlyOthers } = message
  const addresses = [...keys, ...loaded.writable, ...loaded.readonly]
  const invoked = new Set(message.instructions.map(({ program }) => program))
  const upgradeable = addresses.includes(programs.loaderUpgradeable)
  return addresses.map((address, index) => {
    const requested =
      index < signers
        ? index < signers - readonlySigners
        : index < keys.length
          ? index < keys.length - readonlyOthers
          : index < keys.length + loaded.writable.length
    return {
      address,
      signer: index < signers,
      writable: requested && !reserved.has(address) && !(invoked.has(index) && !upgradeable),
      source: index < keys.length ? 'transaction' : 'lookupTable',
    }
  })
}
