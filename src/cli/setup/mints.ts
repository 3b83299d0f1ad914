/** `paystile mints create`: creates your own test tokens for a test network and its faucet. */
import { createRpc } from '../../chain/rpc/rpc.ts'
import { createMinter } from '../../chain/wallets/test-mints.ts'
import { agentWalletPath } from '../../client/agent-wallet.ts'
import type { MintTable, Network } from '../../core/money/tokens.ts'
import { createWallClock } from '../../host/clock.ts'
import { createHttpTransport } from '../../host/net/transport.ts'
import { CommandError, type ExitCode, type Terminal, usage } from '../output.ts'
import { openWallet } from '../payment-options.ts'
import type { NodeFlags } from '../run.ts'
import { listNodes, readChain } from '../test-network.ts'

export async function createMints(terminal: Terminal, file: string | undefined, options: NodeFlags): Promise<ExitCode> {
  const network = options.network ?? 'devnet'
  if (network === 'mainnet') throw usage('mainnet has no test tokens. Use --network devnet or localnet.')
  const wallet = await openWallet(file ?? agentWalletPath(), false)
  const http = createHttpTransport()
  const rpc = createRpc({ urls: listNodes(network, options.rpc), transport: http.transport, timeoutMs: 10_000 })
  try {
    const genesis = await readChain(rpc, network)
    const result = await createMinter({ rpc, clock: createWallClock(), genesis }, wallet).createMints()
    if (!('mints' in result)) throw failure(result, wallet.address, network)
    const lines = yamlLines(network, result.mints, wallet.path)
    const made = result.made.length > 0 ? `Created ${result.made.join(' and ')}` : 'The tokens already exist'
    return terminal.result({ ok: true, network, made: result.made, mints: result.mints, faucetKey: wallet.path }, [
      `${made}. Add these lines to paystile.yaml:`,
      '',
      ...lines,
    ])
  } finally {
    rpc.close()
    await http.close()
  }
}

function failure(result: { readonly kind: string; readonly why?: string }, address: string, network: Network) {
  const why = result.why ?? 'unknown reason'
  if (result.kind !== 'failed')
    return new CommandError('unreachable', 'chain_unavailable', `The mints were not created: ${why}. Try again.`)
  const source =
    network === 'localnet' ? `npx paystile faucet ${address}` : `https://faucet.solana.com for the address ${address}`
  const message = `The mints were not created: ${why}. Creating them costs about 0.003 SOL. Get some from ${source}.`
  return new CommandError('wallet', 'mints_failed', message)
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
