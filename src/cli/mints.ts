/** `paystile mints create`: test tokens of one's own, for a test network and its faucet. */

import { readGenesis } from '../chain/genesis.ts'
import { createMinter } from '../chain/minting.ts'
import { createRpc, type Rpc } from '../chain/rpc.ts'
import { agentWalletPath } from '../client/agent-wallet.ts'
import { genesisHashes, type MintTable, type Network, parseNodes, publicNodes } from '../core/network.ts'
import { createWallClock } from '../host/clock.ts'
import { createHttpTransport } from '../host/transport.ts'
import { runningLocalnet } from './network.ts'
import { CommandError, type ExitCode, exitCodes, type Terminal, usage } from './output.ts'
import { openWallet } from './purse.ts'

interface MintsOptions {
  readonly network?: Network
  readonly rpc: readonly string[]
}

export async function createMints(
  terminal: Terminal,
  file: string | undefined,
  options: MintsOptions,
): Promise<ExitCode> {
  const network = options.network ?? 'devnet'
  if (network === 'mainnet') throw usage('There are no test tokens on mainnet; use --network devnet or localnet.')
  const wallet = await openWallet(file ?? agentWalletPath(), false)
  const http = createHttpTransport()
  const rpc = createRpc({ urls: nodesFor(network, options.rpc), transport: http.transport, timeoutMs: 10_000 })
  try {
    const genesis = await chainOf(rpc, network)
    const result = await createMinter({ rpc, clock: createWallClock(), genesis }, wallet).createMints()
    if (!('mints' in result)) throw failure(result, wallet.address, network)
    const lines = yamlLines(network, result.mints, wallet.path)
    const made = result.made.length > 0 ? `Made ${result.made.join(' and ')}` : 'They exist already'
    return terminal.result({ ok: true, network, made: result.made, mints: result.mints, faucetKey: wallet.path }, [
      `${made}. Put these lines into paystile.yaml:`,
      '',
      ...lines,
    ])
  } finally {
    rpc.close()
    await http.close()
  }
}

function nodesFor(network: Exclude<Network, 'mainnet'>, given: readonly string[]): readonly string[] {
  const named = given.length > 0 ? given : parseNodes(process.env['PAYSTILE_RPC'])
  return named ?? (network === 'localnet' ? [runningLocalnet().rpcUrl] : publicNodes[network])
}

/** The chain's own name on a localnet; elsewhere the one that is known. */
async function chainOf({ call }: Rpc, network: Network): Promise<string> {
  const named = await readGenesis(call)
  const known = genesisHashes[network]
  if (named === undefined) {
    throw new CommandError(
      exitCodes.unreachable,
      'chain_unavailable',
      `No node of ${network} can be reached; name one with --rpc.`,
    )
  }
  const isRight = known === undefined ? !Object.values(genesisHashes).includes(named) : named === known
  if (isRight) return named
  throw usage(`The node speaks for another chain than ${network}; name one of ${network} with --rpc.`)
}

function failure(result: { readonly kind: string; readonly why?: string }, address: string, network: Network) {
  const why = result.why ?? 'nobody knows why'
  if (result.kind !== 'failed') {
    return new CommandError(exitCodes.unreachable, 'chain_unavailable', `The mints were not made: ${why}; try again.`)
  }
  const source =
    network === 'localnet' ? `npx paystile faucet ${address}` : `https://faucet.solana.com for the address ${address}`
  return new CommandError(
    exitCodes.wallet,
    'mints_failed',
    `The mints were not made: ${why}. Making them costs about 0.003 SOL; get some from ${source}.`,
  )
}

function yamlLines(network: Network, mints: MintTable, keyFile: string): readonly string[] {
  return [
    `network: ${network}`,
    'mints:',
    ...Object.entries(mints).map(
      ([code, mint]) => `  ${code}: { address: ${mint.address}, decimals: ${mint.decimals} }`,
    ),
    `faucetKey: ${keyFile}`,
  ]
}
