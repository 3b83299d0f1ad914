/**
 * Simulates a transaction before it is signed, to learn its effect on the accounts that it can write.
 *
 * Only the effect is checked, not the instructions. The wallet's outflow has an upper bound, its inflow has a lower
 * bound, and no other asset of the wallet may pass to others.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { isFields } from '../../core/encoding/fields.ts'
import type { Mint } from '../../core/money/tokens.ts'
import { absent, askAccounts, type ChainAccount, isEmpty, readAccount } from '../accounts/account.ts'
import { wrappedSol } from '../accounts/programs.ts'
import { parseTokenAccount, type TokenAccount } from '../accounts/token-account.ts'
import type { Transaction } from '../read/decode.ts'
import { describeError, readList } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { simulate } from './simulate.ts'

/** An account before and after the transaction. */
export interface BalanceChange {
  readonly address: string
  readonly before: ChainAccount
  readonly after: ChainAccount
}

export type SimulatedEffects =
  /** `slot` is the slot up to which the node knew the chain. */
  | { readonly kind: 'ran'; readonly slot: number; readonly changes: readonly BalanceChange[] }
  /** It would fail. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/**
 * Runs a transaction at a node of the chain without sending it. `addresses` are writable accounts, each once. One
 * successful run is sufficient, because another node may lag.
 */
export async function simulateEffects(
  { nodes }: Pick<Rpc, 'nodes'>,
  genesis: string,
  transaction: Uint8Array,
  addresses: readonly string[],
): Promise<SimulatedEffects> {
  return simulate<Exclude<SimulatedEffects, { kind: 'unavailable' }>>({
    nodes,
    genesis,
    transaction,
    addresses,
    isGood: ({ kind }) => kind === 'ran',
    interpret: async ({ call, slot, error, accounts }) => {
      // An instruction error concerns the transaction. Other errors may concern the node, which can lag.
      if (error !== null) return { kind: isFields(error) ? 'failed' : 'unavailable', why: describeError(error) }
      const after = readList(accounts, readAccount)
      if (after?.length !== addresses.length)
        return { kind: 'unavailable', why: 'the node returned other accounts than requested' }
      // The state before is read afterwards. Money that arrives in between makes the check stricter, never looser.
      const before = await askAccounts(call, addresses, { minContextSlot: slot })
      if (before.kind === 'unavailable') return before
      const changes = addresses.map((address, index) => ({
        address,
        before: before.accounts[index] ?? absent,
        after: after[index] ?? absent,
      }))
      return { kind: 'ran', slot, changes }
    },
  })
}

/** The gain of an account in a mint or in SOL. */
export function computeGain(
  changes: readonly BalanceChange[],
  { asset, destination }: { readonly asset: string; readonly destination: string },
): bigint {
  const change = changes.find(({ address }) => address === destination)
  if (!change) return 0n
  const { before, after } = change
  if (asset === 'SOL') return after.lamports - before.lamports
  const countUnits = (account: ChainAccount): bigint => {
    const tokens = parseTokenAccount(account)
    return tokens?.mint === asset ? tokens.units : 0n
  }
  return countUnits(after) - countUnits(before)
}

export interface ExchangeBounds {
  readonly wallet: string
  /** Undefined for SOL, in both fields. */
  readonly sell: Mint | undefined
  readonly buy: Mint | undefined
  /** The maximum of the sold token that may leave, and the minimum of the bought token that must arrive. */
  readonly units: bigint
  readonly minimum: bigint
  /** The transaction fee, and the maximum rent of new accounts. */
  readonly fee: bigint
  readonly rent: bigint
}

/**
 * The reason why an exchange would violate its bounds. Undefined if it keeps them. The changes must contain all
 * writable accounts.
 */
export function findBreach(changes: readonly BalanceChange[], bounds: ExchangeBounds): string | undefined {
  const { wallet, sell, buy, units, minimum, fee, rent } = bounds
  const own = changes.find(({ address }) => address === wallet)
  if (!own) return 'the wallet is not among the accounts'
  if (!isEmpty(own.before) || !isEmpty(own.after)) return 'the wallet would no longer be a plain wallet'
  const allowed = [sell, buy].map((mint) => mint?.address ?? wrappedSol.address)
  // The wallet's wrapped SOL counts as SOL, because the transaction can wrap or unwrap it.
  let gained = own.after.lamports - own.before.lamports + fee
  const held = { sold: 0n, bought: 0n }
  for (const { address, before, after } of changes) {
    if (address === wallet) continue
    const [was, is] = [parseTokenAccount(before), parseTokenAccount(after)]
    if (was?.owner === wallet) {
      if (!allowed.includes(was.mint)) return 'it writes to an account of another token of the wallet'
      const isClosed = after.lamports === 0n && after.data.length === 0
      if (!(isClosed && was.mint === wrappedSol.address)) {
        if (is?.owner !== wallet || is.mint !== was.mint) return 'a token account of the wallet would change its owner'
        if (describeRights(is) !== describeRights(was))
          return 'another account would gain rights to a token account of the wallet'
      }
    } else if (is?.owner === wallet && describeRights(is) !== noRights) {
      return 'another account would gain rights to a token account of the wallet'
    }
    if (was?.owner === wallet && was.mint === wrappedSol.address) gained -= before.lamports
    if (is?.owner === wallet && is.mint === wrappedSol.address) gained += after.lamports
    const gain = (is?.owner === wallet ? is.units : 0n) - (was?.owner === wallet ? was.units : 0n)
    const mint = is?.mint ?? was?.mint
    if (sell && mint === sell.address) held.sold -= gain
    if (buy && mint === buy.address) held.bought += gain
  }
  if (sell && held.sold > units) return 'it takes more than ordered'
  if (buy && held.bought < minimum) return 'it gives less than the minimum'
  if (!sell && gained < -(units + rent)) return 'it takes more than ordered'
  if (!buy && gained < minimum) return 'it gives less than the minimum'
  if (sell && buy && gained < -rent) return 'it takes SOL in addition to the fee'
  return undefined
}

/** The rights of others to a token account, as comparable text. */
function describeRights({ delegate = '', delegated, closer = '' }: TokenAccount): string {
  return `${delegate}/${delegated}/${closer}`
}

const noRights = '/0/'

/** All writable accounts of a transaction: its own keys, and those loaded by lookup tables. */
export function writableAddresses({ keys, header }: Transaction, loaded: readonly string[] = []): readonly string[] {
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = header
  const own = keys.filter((_, index) =>
    index < requiredSignatures ? index < requiredSignatures - readonlySigned : index < keys.length - readonlyUnsigned,
  )
  return [...own.map(encodeBase58), ...loaded]
}
