/** `paystile faucet`: test money on a localnet. */
import { agentWalletPath, initAgentWallet } from '../client/agent-wallet.ts'
import { decodeAddress } from '../core/base58.ts'
import { runningLocalnet } from './network.ts'
import { CommandError, type ExitCode, exitCodes, type Terminal, usage } from './output.ts'
import { readToken } from './purse.ts'

interface FaucetOptions {
  readonly token?: string
  readonly amount?: string
  readonly url?: string
}

export async function faucet(terminal: Terminal, given: string | undefined, options: FaucetOptions): Promise<ExitCode> {
  const address = given ?? (await initAgentWallet({ path: agentWalletPath() })).address
  if (decodeAddress(address) === undefined) throw usage(`"${address}" is not a Solana address.`)
  if (options.amount !== undefined && options.token === undefined) throw usage('--amount needs --token to say of what.')
  const url = options.url ?? `${runningLocalnet().rpcUrl}/faucet`
  const order = {
    address,
    ...(options.token && { token: readToken(options.token) }),
    ...(options.amount && { amount: options.amount }),
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order),
  })
  const answer = (await response.json().catch(() => ({}))) as {
    error?: string
    amounts?: Record<string, string>
    signatures?: string[]
  }
  if (!response.ok) {
    throw new CommandError(
      exitCodes.refused,
      'faucet_refused',
      `The faucet said no: ${answer.error ?? `status ${response.status}`}.`,
    )
  }
  const amounts = Object.entries(answer.amounts ?? {}).map(([token, amount]) => `${amount} ${token}`)
  return terminal.result({ ok: true, ...answer }, [`${address} got ${amounts.join(', ')}.`])
}
