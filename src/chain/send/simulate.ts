/**
 * Simulates a transaction on the nodes before it is signed. Unsigned bytes cannot be sent, so a transaction that was
 * only simulated never lands.
 */
import { getBase64Decoder } from '@solana/kit'
import { isFields } from '../../core/encoding/fields.ts'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError } from '../rpc/json.ts'
import { describeFailure, resultSlot, resultValue } from '../rpc/results.ts'
import type { Call, Rpc } from '../rpc/rpc.ts'

type Unavailable = { readonly kind: 'unavailable'; readonly why: string }

/** A node's report on a simulated transaction. */
interface SimulatedRun {
  readonly call: Call
  /** The slot up to which the node knew the chain. */
  readonly slot: number
  /** Null if the transaction succeeds. */
  readonly error: unknown
  /** The requested accounts in their state after the transaction. */
  readonly accounts: unknown
}

interface SimulationOrder<Verdict> {
  readonly nodes: Rpc['nodes']
  readonly genesis: string
  readonly transaction: Uint8Array
  /** Accounts to return in their state after the transaction. */
  readonly addresses?: readonly string[]
  readonly interpret: (run: SimulatedRun) => Verdict | Unavailable | Promise<Verdict | Unavailable>
  readonly isGood: (verdict: Verdict) => boolean
}

/**
 * Simulates on one node after the other until a verdict is good, because a lagging node may not know the money or the
 * account yet. Otherwise it returns the first verdict of a reachable node.
 */
export async function simulate<Verdict extends { readonly kind: string }>(
  order: SimulationOrder<Verdict>,
): Promise<Verdict | Unavailable> {
  let first: Verdict | Unavailable = { kind: 'unavailable', why: 'no node is available' }
  for (const { call } of order.nodes) {
    const verdict = await simulateAt(call, order)
    if (!isUnavailable(verdict) && order.isGood(verdict)) return verdict
    if (isUnavailable(first)) first = verdict
  }
  return first
}

function isUnavailable(verdict: { readonly kind: string }): verdict is Unavailable {
  return verdict.kind === 'unavailable'
}

async function simulateAt<Verdict>(call: Call, order: SimulationOrder<Verdict>): Promise<Verdict | Unavailable> {
  const { genesis, transaction, addresses, interpret } = order
  const isMember = async () => (await readGenesis(call)) === genesis
  const stranger: Unavailable = { kind: 'unavailable', why: 'a node belongs to another chain' }
  // The chain is checked before and after, because one address can lead to different nodes. With a blockhash of another
  // chain, the wallet would sign for that chain.
  if (!(await isMember())) return stranger
  const answer = await call('simulateTransaction', [
    getBase64Decoder().decode(transaction),
    {
      encoding: 'base64',
      commitment: 'confirmed',
      sigVerify: false,
      replaceRecentBlockhash: false,
      ...(addresses && { accounts: { encoding: 'base64', addresses } }),
    },
  ])
  const [value, slot] = [resultValue(answer), resultSlot(answer)]
  const error = isFields(value) ? value['err'] : undefined
  if (!isFields(value) || error === undefined || slot === undefined)
    return { kind: 'unavailable', why: describeFailure(answer, 'the simulation cannot be read') }
  const verdict = await interpret({ call, slot, error, accounts: value['accounts'] })
  return (await isMember()) ? verdict : stranger
}

export type Simulation =
  | { readonly kind: 'good'; readonly slot: number; readonly call: Call }
  /** It would fail, and continue to fail until a person intervenes. */
  | { readonly kind: 'bad'; readonly error: unknown; readonly call: Call }
  | Unavailable

/** Simulates transactions. It asks the nodes from last to first, because blockhashes come from the first. */
export function createSimulation(
  { nodes }: Pick<Rpc, 'nodes'>,
  genesis: string,
): (draft: Uint8Array) => Promise<Simulation> {
  const backwards = [...nodes].reverse()
  let start = 0
  return async (transaction) => {
    const verdict = await simulate<Exclude<Simulation, Unavailable>>({
      nodes: [...backwards.slice(start), ...backwards.slice(0, start)],
      genesis,
      transaction,
      interpret: judgeRun,
      isGood: ({ kind }) => kind === 'good',
    })
    // The next simulation starts at the node that succeeded.
    if (verdict.kind === 'good') start = backwards.findIndex(({ call }) => call === verdict.call)
    return verdict
  }
}

function judgeRun({ call, slot, error }: SimulatedRun): Simulation {
  // Already on chain: it was signed, and the wallet itself has sent it.
  if (error === null || error === 'AlreadyProcessed') return { kind: 'good', slot, call }
  if (isLasting(error)) return { kind: 'bad', error, call }
  return { kind: 'unavailable', why: `the node does not accept it now (${describeError(error)})` }
}

/** Permanent failures of the whole transaction. The failure of an instruction is permanent, too. */
const lasting: ReadonlySet<string> = new Set([
  'AccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
  'InvalidWritableAccount',
  'InvalidProgramForExecution',
  'ProgramAccountNotFound',
  'TooManyAccountLocks',
  'MaxLoadedAccountsDataSizeExceeded',
])

function isLasting(error: unknown): boolean {
  if (typeof error === 'string') return lasting.has(error)
  return isFields(error) && ('InstructionError' in error || 'InsufficientFundsForRent' in error)
}
