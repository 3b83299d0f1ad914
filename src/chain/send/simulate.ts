/**
 * Runs a transaction on the nodes before it is signed: nobody can send bytes without a signature, so a transaction that was
 * only simulated never lands.
 */
import { getBase64Decoder } from '@solana/kit'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError, isFields } from '../rpc/json.ts'
import { describeFailure, resultSlot, resultValue } from '../rpc/results.ts'
import type { Call, Rpc } from '../rpc/rpc.ts'

type Unavailable = { readonly kind: 'unavailable'; readonly why: string }

/** What a node says of a transaction that it has run. */
interface SimulatedRun {
  readonly call: Call
  /** The slot up to which the node knew the chain. */
  readonly slot: number
  /** Null when the transaction succeeds. */
  readonly error: unknown
  /** The accounts that were asked for, as they would be afterwards. */
  readonly accounts: unknown
}

interface SimulationOrder<Verdict> {
  readonly nodes: Rpc['nodes']
  readonly genesis: string
  readonly transaction: Uint8Array
  /** Accounts whose state afterwards is wanted. */
  readonly addresses?: readonly string[]
  readonly interpret: (run: SimulatedRun) => Verdict | Unavailable | Promise<Verdict | Unavailable>
  readonly isGood: (verdict: Verdict) => boolean
}

/**
 * Simulates at one node after the other until a verdict is good: a node that is behind may not know the money or the account
 * yet. Otherwise the first verdict counts that a node could reach at all.
 */
export async function simulate<Verdict extends { readonly kind: string }>(
  order: SimulationOrder<Verdict>,
): Promise<Verdict | Unavailable> {
  let first: Verdict | Unavailable = { kind: 'unavailable', why: 'no node was asked' }
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
  const stranger: Unavailable = { kind: 'unavailable', why: 'a node does not speak for this chain' }
  // Asked before and after: at one address another node may answer from one question to the next. By a block of another
  // chain, something would be signed for that chain.
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
  /** It would fail, and go on failing until somebody changes something. */
  | { readonly kind: 'bad'; readonly error: unknown; readonly call: Call }
  | Unavailable

/** Simulates transactions. The nodes are asked from the last to the first, since blocks to build on come from the first. */
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
    // The next simulation begins at the node that was of help.
    if (verdict.kind === 'good') start = backwards.findIndex(({ call }) => call === verdict.call)
    return verdict
  }
}

function judgeRun({ call, slot, error }: SimulatedRun): Simulation {
  // On chain already: it was signed, and the wallet has sent it, too.
  if (error === null || error === 'AlreadyProcessed') return { kind: 'good', slot, call }
  if (isLasting(error)) return { kind: 'bad', error, call }
  return { kind: 'unavailable', why: `the node would not take it now (${describeError(error)})` }
}

/** Failures of the whole transaction that do not pass by themselves; the failure of an instruction is one, too. */
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
