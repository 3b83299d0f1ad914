/** By its genesis hash a node says which chain it speaks for. */
import type { Call } from './rpc.ts'

/** Undefined when it does not say. */
export async function readGenesis(call: Call): Promise<string | undefined> {
  const answer = await call('getGenesisHash', [])
  return answer.kind === 'answered' && typeof answer.result === 'string' ? answer.result : undefined
}
