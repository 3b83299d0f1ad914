/**
 * The effect of a transaction, simulated before it is signed: what it would do to the accounts it may write to.
 *
 * Only the effect is judged, whatever the instructions look like: what a wallet gives is bounded from above and what it gets
 * from below, and nothing else of its own may change hands.
 */
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Mint } from '../../core/money/tokens.ts'
import { absent, askAccounts, type ChainAccount, isEmpty, readAccount } from '../accounts/account.ts'
import { wrappedSol } from '../accounts/programs.ts'
import { parseTokenAccount, type TokenAccount } from '../accounts/token-account.ts'
import type { Transaction } from '../read/decode.ts'
import { describeError, isFields, readList } from '../rpc/json.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { simulate } from './simulate.ts'

/** An account before and after. */
export interface BalanceChange {
  readonly address: string
  readonly before: ChainAccount
  readonly after: ChainAccount
}

export type SimulatedEffects =
  /** `slot` is the one up to which the node knew the chain. */
  | { readonly kind: 'ran'; readonly slot: number; readonly changes: readonly BalanceChange[] }
  /** It would fail. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/**
 * Runs a transaction at a node of the chain without sending it. `addresses` are accounts that it may write to, each once.
 * One node on which it runs is enough: another may be behind.
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
      // An instruction's error is about the transaction; other errors may be about the node, which lags.
      if (error !== null) return { kind: isFields(error) ? 'failed' : 'unavailable', why: describeError(error) }
      const after = readList(accounts, readAccount)
      if (after?.length !== addresses.length) return { kind: 'unavailable', why: 'the node tells of other accounts' }
      // The state before is asked afterwards: money that comes in between makes the judgement stricter and never looser.
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

/** The gain of an account, in a mint or in SOL. */
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
  readonly sell: Mint | undefined
  readonly buy: Mint | undefined
  /** The most that may go of what is sold, and the least that has to come of what is bought. */
  readonly units: bigint
  readonly minimum: bigint
  /** What the transaction itself costs, and what the rent of new accounts may take. */
  readonly fee: bigint
  readonly rent: bigint
}

/** Why an exchange would break its bounds; undefined when it keeps them. All accounts that it may write to are among the changes. */
export function findBreach(changes: readonly BalanceChange[], bounds: ExchangeBounds): string | undefined {
  const { wallet, sell, buy, units, minimum, fee, rent } = bounds
  const own = changes.find(({ address }) => address === wallet)
  if (!own) return 'the wallet is not among the accounts'
  if (!isEmpty(own.before) || !isEmpty(own.after)) return 'the wallet would no longer be a plain one'
  const allowed = [sell, buy].map((mint) => mint?.address ?? wrappedSol.address)
  // Wrapped SOL of the wallet is SOL of the wallet, whether it is wrapped or unwrapped on the way.
  let gained = own.after.lamports - own.before.lamports + fee
  const held = { sold: 0n, bought: 0n }
  for (const { address, before, after } of changes) {
    if (address === wallet) continue
    const [was, is] = [parseTokenAccount(before), parseTokenAccount(after)]
    if (was?.owner === wallet) {
      if (!allowed.includes(was.mint)) return 'it writes to an account of another token of the wallet'
      const isClosed = after.lamports === 0n && after.data.length === 0
      if (!(isClosed && was.mint === wrappedSol.address)) {
        if (is?.owner !== wallet || is.mint !== was.mint) return 'a token account of the wallet would change hands'
        if (describeRights(is) !== describeRights(was))
          return 'somebody else would get rights to a token account of the wallet'
      }
    } else if (is?.owner === wallet && describeRights(is) !== noRights) {
      return 'somebody else would get rights to a token account of the wallet'
    }
    if (was?.owner === wallet && was.mint === wrappedSol.address) gained -= before.lamports
    if (is?.owner === wallet && is.mint === wrappedSol.address) gained += after.lamports
    const gain = (is?.owner === wallet ? is.units : 0n) - (was?.owner === wallet ? was.units : 0n)
    const mint = is?.mint ?? was?.mint
    if (sell && mint === sell.address) held.sold -= gain
    if (buy && mint === buy.address) held.bought += gain
  }
  if (sell && held.sold > units) return 'it takes more than was ordered'
  if (buy && held.bought < minimum) return 'it gives less than the minimum'
  if (!sell && gained < -(units + rent)) return 'it takes more than was ordered'
  if (!buy && gained < minimum) return 'it gives less than the minimum'
  if (sell && buy && gained < -rent) return 'it takes SOL beside the fee'
  return undefined
}

/** The rights of others to a token account, as text to compare. */
function describeRights({ delegate = '', delegated, closer = '' }: TokenAccount): string {
  return `${delegate}/${delegated}/${closer}`
}

const noRights = '/0/'

/** All accounts that a transaction may write to: of its own keys, and of what its lookups load. */
export function writableAddresses({ keys, header }: Transaction, loaded: readonly string[] = []): readonly string[] {
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = header
  const own = keys.filter((_, index) =>
    index < requiredSignatures ? index < requiredSignatures - readonlySigned : index < keys.length - readonlyUnsigned,
  )
  return [...own.map(encodeBase58), ...loaded]
}
