/** The genesis hash identifies the chain of a node. */
import type { Call, RpcAnswer } from './rpc.ts'

/** Undefined if the node does not report it. */
export async function readGenesis(call: Call): Promise<string | undefined> {
  return genesisIn(await call('getGenesisHash', []))
}

export function genesisIn(answer: RpcAnswer): string | undefined {
  return answer.kind === 'answered' && typeof answer.result === 'string' ? answer.result : undefined
}
