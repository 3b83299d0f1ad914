/** The nodes and the chain of a test network, for commands that must not run on mainnet. */
import { readGenesis } from '../chain/rpc/genesis.ts'
import type { Rpc } from '../chain/rpc/rpc.ts'
import { genesisHashes, type Network, parseNodes, publicNodes } from '../core/money/tokens.ts'
import { runningLocalnet } from './network.ts'
import { CommandError, usage } from './output.ts'

export type TestNetwork = Exclude<Network, 'mainnet'>

/** The given nodes, those of the environment, the localnet of this machine, or the public ones. */
export function listNodes(network: Network, given: readonly string[]): readonly string[] {
  const named = given.length > 0 ? given : parseNodes(process.env['PAYSTILE_RPC'])
  return named ?? (network === 'localnet' ? [runningLocalnet().rpcUrl] : publicNodes[network])
}

/** The genesis hash: on a localnet from the chain itself, otherwise the known one. */
export async function readChain({ call }: Rpc, network: TestNetwork): Promise<string> {
  const named = await readGenesis(call)
  const known = genesisHashes[network]
  if (named === undefined) {
    const message = `No node of ${network} can be reached. Set one with --rpc.`
    throw new CommandError('unreachable', 'chain_unavailable', message)
  }
  const isRight = known === undefined ? !Object.values(genesisHashes).includes(named) : named === known
  if (isRight) return named
  throw usage(`The node belongs to another chain than ${network}. Set a node of ${network} with --rpc.`)
}
