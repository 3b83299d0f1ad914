/**
 * All accounts, in their current state and in their state at the end of every recent slot.
 *
 * Each slot stores the previous state of the accounts that it changed. The store uses it to answer at an older
 * commitment and to revert the slots of a dropped fork. Indexes contain only the present; reads of the past add the
 * changes since.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Account } from './account.ts'
import { tokenPrograms } from './addresses.ts'

export type Change = readonly [address: string, account: Account | undefined]

export function createAccounts() {
  const current = new Map<string, Account>()
  const undo = new Map<number, Map<string, Account | undefined>>()
  const byOwner = createIndex()
  const byWallet = createIndex()
  const byMint = createIndex()

  function put(address: string, account: Account | undefined): void {
    const before = current.get(address)
    if (before && account && sameListing(before, account)) {
      current.set(address, account)
      return
    }
    if (before) list('remove', address, before)
    if (account) {
      current.set(address, account)
      list('add', address, account)
    } else {
      current.delete(address)
    }
  }

  function list(change: 'add' | 'remove', address: string, account: Account): void {
    byOwner[change](account.owner, address)
    const token = readTokenParties(account)
    if (!token) return
    byMint[change](token.mint, address)
    byWallet[change](token.wallet, address)
  }

  function at(address: string, slot: number): Account | undefined {
    // Slots are in ascending order, so the first one that touched the account holds its earliest previous state.
    for (const [touched, before] of undo) if (touched > slot && before.has(address)) return before.get(address)
    return current.get(address)
  }

  function* select(
    listed: Iterable<string>,
    slot: number,
    belongs: (account: Account) => boolean,
  ): Iterable<readonly [string, Account]> {
    const candidates = new Set(listed)
    for (const [touched, before] of undo)
      if (touched > slot) for (const address of before.keys()) candidates.add(address)
    for (const address of candidates) {
      const account = at(address, slot)
      if (account && belongs(account)) yield [address, account]
    }
  }

  return {
    get: (address: string) => current.get(address),
    /** The account at the end of a slot. A forgotten slot returns the state of the oldest remembered one. */
    at,
    apply(slot: number, changes: Iterable<Change>) {
      const before = undo.get(slot) ?? new Map<string, Account | undefined>()
      for (const [address, account] of changes) {
        if (!before.has(address)) before.set(address, current.get(address))
        put(address, account)
      }
      if (before.size > 0) undo.set(slot, before)
    },
    /** Replaces the remembered states of these accounts. */
    rewrite(changes: readonly Change[]) {
      for (const before of undo.values())
        for (const [address, account] of changes) if (before.has(address)) before.set(address, account)
    },
    /** Reverts every slot after this one, and returns the restored accounts. */
    revert(slot: number) {
      const changes = new Map<string, Account | undefined>()
      for (const [touched, before] of [...undo].reverse()) {
        if (touched <= slot) continue
        for (const [address, account] of before) changes.set(address, account)
        undo.delete(touched)
      }
      for (const [address, account] of changes) put(address, account)
      return [...changes]
    },
    /** Forgets the account states before the slots up to this one. */
    forget(slot: number) {
      for (const touched of undo.keys()) {
        if (touched > slot) return
        undo.delete(touched)
      }
    },
    changedSlots: () => undo.keys(),
    changedIn: (slot: number) => undo.get(slot)?.keys() ?? [],
    all: (slot: number) => select(current.keys(), slot, () => true),
    ownedBy: (program: string, slot: number) =>
      select(byOwner.of(program), slot, (account) => account.owner === program),
    /** Token accounts of a wallet, under either token program. */
    tokensOf: (wallet: string, slot: number) =>
      select(byWallet.of(wallet), slot, (account) => readTokenParties(account)?.wallet === wallet),
    tokensOfMint: (mint: string, slot: number) =>
      select(byMint.of(mint), slot, (account) => readTokenParties(account)?.mint === mint),
  }
}

export type Accounts = ReturnType<typeof createAccounts>

/** Mint and wallet of an initialised token account. Undefined for all other accounts of the token programs. */
export function readTokenParties(account: Account): { readonly mint: string; readonly wallet: string } | undefined {
  if (!tokenPrograms.has(account.owner)) return undefined
  const { data } = account
  if (data.length < 165 || data[108] === 0) return undefined
  // After its base length, a Token-2022 account states its kind. A length of 355 bytes is a multisig.
  if (data.length > 165 && (data.length === 355 || data[165] !== 2)) return undefined
  return { mint: encodeBase58(data.subarray(0, 32)), wallet: encodeBase58(data.subarray(32, 64)) }
}

/** Most changes move an amount and leave the indexes unchanged, because mint, wallet and state have fixed offsets. */
function sameListing(left: Account, right: Account): boolean {
  if (left.owner !== right.owner || left.data.length !== right.data.length || left.data[108] !== right.data[108])
    return false
  return Buffer.compare(left.data.subarray(0, 64), right.data.subarray(0, 64)) === 0
}

function createIndex() {
  const sets = new Map<string, Set<string>>()
  return {
    add(key: string, address: string) {
      const set = sets.get(key)
      if (set) set.add(address)
      else sets.set(key, new Set([address]))
    },
    remove(key: string, address: string) {
      const set = sets.get(key)
      set?.delete(address)
      if (set?.size === 0) sets.delete(key)
    },
    of: (key: string) => sets.get(key) ?? [],
  }
}
