/** The accounts of a new chain: the VM's programs and sysvars, the mock mints, the faucet and the node itself. */
import { localnetMints, type Mint } from '../core/money/tokens.ts'
import { type Account, decodeKey, emptyAccount } from './accounts/account.ts'
import { programs, sysvars } from './accounts/addresses.ts'
import type { Vm } from './bank/vm.ts'

const faucetLamports = 500_000_000n * 1_000_000_000n
const nodeLamports = 500n * 1_000_000_000n

/** Sysvars that change with each slot are created on access and never stored. */
const changing: ReadonlySet<string> = new Set([
  sysvars.clock,
  sysvars.slotHashes,
  sysvars.recentBlockhashes,
  sysvars.slotHistory,
])

/** Accounts that every chain has, so they need not be stored in its file. */
export function builtinAccounts(vm: Vm): readonly (readonly [string, Account])[] {
  return vm.genesis.filter(([address]) => !changing.has(address))
}

/** Accounts specific to a new localnet, besides its mints. */
export function firstAccounts(faucet: string, identity: string): readonly (readonly [string, Account])[] {
  return [
    [faucet, emptyAccount(programs.system, faucetLamports)],
    [identity, emptyAccount(programs.system, nodeLamports)],
  ]
}

/** The mock mints. The faucet can mint them. */
export function mintAccounts(faucet: string, vm: Vm): readonly (readonly [string, Account])[] {
  return Object.entries(localnetMints).map(([code, mint]) => [
    mint.address,
    mintAccount(mint, faucet, code === 'USDC', vm),
  ])
}

/** On mainnet, the issuer of USDC can freeze accounts, so the mock mint allows it, too. */
function mintAccount(mint: Mint, authority: string, freezable: boolean, vm: Vm): Account {
  const data = new Uint8Array(82)
  const view = new DataView(data.buffer)
  view.setUint32(0, 1, true)
  data.set(decodeKey(authority), 4)
  data[44] = mint.decimals
  data[45] = 1
  if (freezable) {
    view.setUint32(46, 1, true)
    data.set(decodeKey(authority), 50)
  }
  return { ...emptyAccount(mint.tokenProgram, vm.rentExemption(82)), data }
}
