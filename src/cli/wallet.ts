/** `paystile wallet`: make one, see its address, see what it holds. */
import { readFunds } from '../chain/balances.ts'
import { createRpc } from '../chain/rpc.ts'
import { agentWalletPath } from '../client/agent-wallet.ts'
import { formatUnits } from '../core/money.ts'
import { knownMints, type Network, parseNodes, publicNodes, solDecimals } from '../core/network.ts'
import { createHttpTransport } from '../host/transport.ts'
import { chooseNetwork, runningLocalnet } from './network.ts'
import { CommandError, type ExitCode, exitCodes, type Terminal, table } from './output.ts'
import { openWallet } from './purse.ts'

export async function newWallet(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  const wallet = await openWallet(file ?? agentWalletPath(), true)
  const { address, path, created } = wallet
  if (!created) {
    throw new CommandError(
      exitCodes.wallet,
      'wallet_exists',
      `There is a wallet at ${path} already (${address}); give another file to make one more.`,
    )
  }
  return terminal.result({ ok: true, address, keyFile: path }, [
    `Address   ${address}`,
    `Key file  ${path}`,
    '',
    'Whoever has this file has the money. On a localnet, fill it with: npx paystile faucet',
  ])
}

export async function showWallet(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  const { address, path } = await openWallet(file ?? agentWalletPath(), false)
  return terminal.result({ ok: true, address, keyFile: path }, [address])
}

interface BalanceOptions {
  readonly rpc: readonly string[]
  readonly network?: Network
}

export async function showBalance(
  terminal: Terminal,
  file: string | undefined,
  options: BalanceOptions,
): Promise<ExitCode> {
  const { address } = await openWallet(file ?? agentWalletPath(), false)
  const network = chooseNetwork(options.network)
  const urls = nodesFor(network, options.rpc)
  const http = createHttpTransport()
  const mints = knownMints[network]
  const codes = (['USDC', 'NATIVE'] as const).filter((code) => mints[code] !== undefined)
  const question = { wallet: address, recipient: address, mints: codes.flatMap((code) => mints[code] ?? []) }
  const funds = await readFunds(createRpc({ urls, transport: http.transport }), question)
  await http.close()
  if (funds.kind === 'unavailable') {
    throw new CommandError(
      exitCodes.unreachable,
      'chain_unavailable',
      `The ${network} node cannot be asked (${funds.why}); check --rpc.`,
    )
  }
  const amounts = {
    SOL: formatUnits(funds.lamports, solDecimals),
    ...Object.fromEntries(
      codes.map((code, index) => [code, formatUnits(funds.tokens[index]?.units ?? 0n, mints[code]?.decimals ?? 0)]),
    ),
  }
  return terminal.result({ ok: true, address, network, balances: amounts }, [
    `${address} on ${network}`,
    ...table(Object.entries(amounts)),
  ])
}

function nodesFor(network: Network, given: readonly string[]): readonly string[] {
  const named = given.length > 0 ? given : parseNodes(process.env['PAYSTILE_RPC'])
  return named ?? (network === 'localnet' ? [runningLocalnet().rpcUrl] : publicNodes[network])
}
