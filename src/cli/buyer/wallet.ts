/** `paystile wallet`: creates a wallet and shows its address and balances. */
import { agentWalletPath } from '../../client/agent-wallet.ts'
import { knownMints } from '../../core/money/tokens.ts'
import { readBalances } from '../balances.ts'
import { chooseNetwork } from '../network.ts'
import { CommandError, type ExitCode, type Terminal, table } from '../output.ts'
import { openWallet, readMint } from '../payment-options.ts'
import type { NodeFlags } from '../run.ts'
import { listNodes } from '../test-network.ts'

export async function newWallet(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  const wallet = await openWallet(file ?? agentWalletPath(), true)
  const { address, path, created } = wallet
  if (!created) {
    const message = `${path} already contains a wallet (${address}). Choose another file for a new one.`
    throw new CommandError('wallet', 'wallet_exists', message)
  }
  return terminal.result({ ok: true, address, keyFile: path }, [
    `Address   ${address}`,
    `Key file  ${path}`,
    '',
    'Anyone with this file can spend the money. On a localnet, get test money with: npx paystile faucet',
  ])
}

export async function showWallet(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  const { address, path } = await openWallet(file ?? agentWalletPath(), false)
  return terminal.result({ ok: true, address, keyFile: path }, [address])
}

type BalanceOptions = NodeFlags & { readonly mint: readonly string[] }

export async function showBalance(
  terminal: Terminal,
  file: string | undefined,
  options: BalanceOptions,
): Promise<ExitCode> {
  const { address } = await openWallet(file ?? agentWalletPath(), false)
  const network = chooseNetwork(options.network)
  const mints = { ...knownMints[network], ...Object.fromEntries(options.mint.map(readMint)) }
  const balances = await readBalances(address, network, listNodes(network, options.rpc), mints)
  return terminal.result({ ok: true, address, network, balances }, [
    `${address} on ${network}`,
    ...table(Object.entries(balances)),
  ])
}
