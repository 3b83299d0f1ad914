/** The genesis hash identifies the chain of a node. */
import type { Call } from './rpc.ts'

/** Undefined if the node does not report it. */
export async function readGenesis(call: Call): Promise<string | undefined> {
  const answer = await call('getGenesisHash', [])
  return answer.kind === 'answered' && typeof answer.result === 'string' ? answer.result : undefined
}
