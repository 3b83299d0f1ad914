/** Reads the balances of a wallet and formats them for people. */
import { readFunds } from '../chain/accounts/balances.ts'
import { createRpc } from '../chain/rpc/rpc.ts'
import { formatUnits } from '../core/money/money.ts'
import { knownMints, type Network, solDecimals } from '../core/money/tokens.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { CommandError } from './output.ts'

/** Decimals by token code. */
export async function readBalances(
  address: string,
  network: Network,
  urls: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const http = createHttpTransport()
  const mints = knownMints[network]
  const codes = (['USDC', 'NATIVE'] as const).filter((code) => mints[code] !== undefined)
  const question = { wallet: address, recipient: address, mints: codes.flatMap((code) => mints[code] ?? []) }
  const funds = await readFunds(createRpc({ urls, transport: http.transport }), question)
  await http.close()
  if (funds.kind === 'unavailable') {
    const message = `The ${network} node cannot be read (${funds.why}). Check --rpc.`
    throw new CommandError('unreachable', 'chain_unavailable', message)
  }
  const tokens = codes.map((code, index) => [
    code,
    formatUnits(funds.tokens[index]?.units ?? 0n, mints[code]?.decimals ?? 0),
  ])
  return { SOL: formatUnits(funds.lamports, solDecimals), ...Object.fromEntries(tokens) }
}
