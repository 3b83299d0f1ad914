/**
 * A transaction tried out before it is signed: what it would do to the accounts it may write to.
 *
 * Only the effect is judged, whatever the instructions look like: what a wallet gives is bounded from above and what it gets
 * from below, and nothing else of its own may change hands.
 */
import { getBase64Decoder } from '@solana/kit'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import type { Mint } from '../../core/money/tokens.ts'
import { splTokenProgram } from '../../core/money/tokens.ts'
import { absent, type ChainAccount, isEmpty, readAccount } from '../accounts/account.ts'
import { tokenPrograms, wrappedSol } from '../accounts/programs.ts'
import type { Transaction } from '../read/decode.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError, isFields, readList } from '../rpc/json.ts'
import { resultSlot, resultValue } from '../rpc/results.ts'
import type { Call, Rpc, RpcAnswer } from '../rpc/rpc.ts'

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
  wire: Uint8Array,
  addresses: readonly string[],
): Promise<SimulatedEffects> {
  let verdict: SimulatedEffects = { kind: 'unavailable', why: 'no node was asked' }
  for (const { call } of nodes) {
    const isMember = async () => (await readGenesis(call)) === genesis
    // Asked before and after: at one address another node may answer from one question to the next.
    const isOurs = await isMember()
    const rehearsal = isOurs ? await rehearseAt(call, wire, addresses) : stranger
    if (rehearsal.kind === 'ran' && (await isMember())) return rehearsal
    if (verdict.kind === 'unavailable') verdict = rehearsal.kind === 'ran' ? stranger : rehearsal
  }
  return verdict
}

const stranger: SimulatedEffects = { kind: 'unavailable', why: 'a node does not speak for this chain' }

async function rehearseAt(call: Call, wire: Uint8Array, addresses: readonly string[]): Promise<SimulatedEffects> {
  const config = {
    encoding: 'base64',
    commitment: 'confirmed',
    sigVerify: false,
    accounts: { encoding: 'base64', addresses },
  }
  const answer = await call('simulateTransaction', [getBase64Decoder().decode(wire), config])
  const [value, slot] = [resultValue(answer), resultSlot(answer)]
  if (slot === undefined) return unavailable(answer)
  if (!isFields(value) || value['err'] === undefined) return { kind: 'unavailable', why: 'the trial cannot be read' }
  // What an instruction fails with is about the transaction; other errors may be about the node, which lags.
  const { err } = value
  if (err !== null) return { kind: isFields(err) ? 'failed' : 'unavailable', why: describeError(err) }
  const after = readList(value['accounts'], readAccount)
  if (after?.length !== addresses.length) return { kind: 'unavailable', why: 'the trial tells of other accounts' }
  // What was before is asked afterwards: money that comes in between makes the judgement stricter and never looser.
  const asked = { encoding: 'base64', commitment: 'confirmed', minContextSlot: slot }
  const known = await call('getMultipleAccounts', [addresses, asked])
  const before = readList(resultValue(known), readAccount)
  if (before?.length !== addresses.length) return unavailable(known)
  return {
    kind: 'ran',
    slot,
    changes: addresses.map((address, index) => ({
      address,
      before: before[index] ?? absent,
      after: after[index] ?? absent,
    })),
  }
}

function unavailable(answer: RpcAnswer): SimulatedEffects {
  if (answer.kind === 'refused') return { kind: 'unavailable', why: answer.message || `code ${answer.code}` }
  return { kind: 'unavailable', why: answer.kind === 'unavailable' ? answer.why : 'the trial cannot be read' }
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
  const unitsOf = (account: ChainAccount): bigint => {
    const tokens = readTokens(account)
    return tokens?.mint === asset ? tokens.units : 0n
  }
  return unitsOf(after) - unitsOf(before)
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
    const [was, is] = [readTokens(before), readTokens(after)]
    if (was?.owner === wallet) {
      if (!allowed.includes(was.mint)) return 'it writes to an account of another token of the wallet'
      const isClosed = after.lamports === 0n && after.data.length === 0
      if (!(isClosed && was.mint === wrappedSol.address)) {
        if (is?.owner !== wallet || is.mint !== was.mint) return 'a token account of the wallet would change hands'
        if (is.rights !== was.rights) return 'somebody else would get rights to a token account of the wallet'
      }
    } else if (is?.owner === wallet && is.rights !== noRights) {
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

interface Tokens {
  readonly mint: string
  readonly owner: string
  readonly units: bigint
  /** Delegate, what it may spend, and who may close the account: compared only. */
  readonly rights: string
}

const accountBytes = 165
const offsets = { mint: 0, owner: 32, units: 64, delegate: 72, state: 108, delegated: 121, closer: 129 } as const
const noRights = `${'00'.repeat(4)}/0/${'00'.repeat(4)}`

/** Mint, owner, amount, …: the layout that SPL Token and Token-2022 share. */
function readTokens({ owner: program, data }: ChainAccount): Tokens | undefined {
  if (!tokenPrograms.has(program) || data.length < accountBytes || data[offsets.state] === 0) return undefined
  // Beyond the plain layout, one byte tells accounts from mints.
  if (data.length > accountBytes && (program === splTokenProgram || data[accountBytes] !== 2)) return undefined
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const key = (offset: number) => encodeBase58(data.subarray(offset, offset + 32))
  return {
    mint: key(offsets.mint),
    owner: key(offsets.owner),
    units: view.getBigUint64(offsets.units, true),
    rights: `${optional(view, offsets.delegate)}/${view.getBigUint64(offsets.delegated, true)}/${optional(view, offsets.closer)}`,
  }
}

/** Four bytes say whether there is one; what stands behind them otherwise means nothing. */
function optional(view: DataView, offset: number): string {
  if (view.getUint32(offset, true) === 0) return '00'.repeat(4)
  const bytes = new Uint8Array(view.buffer, view.byteOffset + offset + 4, 32)
  return encodeBase58(bytes)
}

/** All accounts that a transaction may write to: of its own keys, and of what its lookups load. */
export function writableAddresses({ keys, header }: Transaction, loaded: readonly string[] = []): readonly string[] {
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = header
  const own = keys.filter((_, index) =>
    index < requiredSignatures ? index < requiredSignatures - readonlySigned : index < keys.length - readonlyUnsigned,
  )
  return [...own.map(encodeBase58), ...loaded]
}
