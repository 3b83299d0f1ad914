/**
 * A transaction tried out on the nodes before it is signed: nobody can send what has no signature, so what was only tried
 * can never land.
 */
import { getBase64Decoder } from '@solana/kit'
import { readGenesis } from '../rpc/genesis.ts'
import { describeError, isFields } from '../rpc/json.ts'
import { resultSlot, resultValue } from '../rpc/results.ts'
import type { Call, Rpc } from '../rpc/rpc.ts'

export type Simulation =
  /** The slot up to which the node knew the chain. */
  | { readonly kind: 'good'; readonly slot: number }
  /** It would fail, and go on failing until somebody changes something. */
  | { readonly kind: 'bad'; readonly error: unknown; readonly call: Call }
  | { readonly kind: 'unavailable'; readonly why: string }

/** Failures of the whole transaction that do not pass by themselves; what an instruction fails with is one, too. */
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

/** Tries transactions. The nodes are asked from the last to the first, since blocks to build on come from the first. */
export function createSimulation(
  { nodes }: Pick<Rpc, 'nodes'>,
  genesis: string,
): (draft: Uint8Array) => Promise<Simulation> {
  let start = nodes.length - 1
  return async (draft) => {
    const wire = getBase64Decoder().decode(draft)
    let verdict: Simulation = { kind: 'unavailable', why: 'no node was asked' }
    for (let step = 0; step < nodes.length; step += 1) {
      const index = (start - step + nodes.length) % nodes.length
      const node = nodes[index]
      if (!node) continue
      const trial = await tryOn(node.call, wire, genesis)
      // One that is behind may not know of the money or the account yet.
      if (trial.kind === 'good') {
        start = index
        return trial
      }
      if (verdict.kind === 'unavailable') verdict = trial
    }
    return verdict
  }
}

async function tryOn(call: Call, wire: string, genesis: string): Promise<Simulation> {
  const isMember = async () => (await readGenesis(call)) === genesis
  const stranger = { kind: 'unavailable', why: 'a node does not speak for this chain' } as const
  // By a block of another chain, something would be signed for that chain.
  if (!(await isMember())) return stranger
  const config = { encoding: 'base64', commitment: 'confirmed', sigVerify: false, replaceRecentBlockhash: false }
  const answer = await call('simulateTransaction', [wire, config])
  if (answer.kind === 'unavailable') return answer
  if (answer.kind === 'refused') return { kind: 'unavailable', why: `the node refused with code ${answer.code}` }
  const [value, slot] = [resultValue(answer), resultSlot(answer)]
  const error = isFields(value) ? value['err'] : undefined
  if (error === undefined || slot === undefined) return { kind: 'unavailable', why: 'the trial cannot be read' }
  if (!(await isMember())) return stranger
  // On chain already: it was signed, and the wallet has sent it, too.
  if (error === null || error === 'AlreadyProcessed') return { kind: 'good', slot }
  if (isLasting(error)) return { kind: 'bad', error, call }
  return { kind: 'unavailable', why: `the node would not take it now (${describeError(error)})` }
}

function isLasting(error: unknown): boolean {
  if (typeof error === 'string') return lasting.has(error)
  return isFields(error) && ('InstructionError' in error || 'InsufficientFundsForRent' in error)
}
