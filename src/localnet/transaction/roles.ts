/** The complete list of a transaction's accounts, with the rights to each. */
import { programs, reserved } from '../accounts/addresses.ts'
import type { Message } from './wire.ts'

export interface Role {
  readonly address: string
  readonly signer: boolean
  readonly writable: boolean
  readonly source: 'transaction' | 'lookupTable'
}

/** Addresses from lookup tables: first all writable ones, then all readonly ones, each in the order of the lookups. */
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
