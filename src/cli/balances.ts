/** Reads the balances of a wallet and formats them for people. */
import { readFunds } from '../chain/accounts/balances.ts'
import { createRpc } from '../chain/rpc/rpc.ts'
import { formatUnits } from '../core/money/money.ts'
import {
  findMint,
  isKnownCode,
  knownMints,
  listTokens,
  type MintTable,
  type Network,
  solDecimals,
} from '../core/money/tokens.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { CommandError } from './output.ts'

/** Decimals by token code: SOL, and the tokens of these mints. */
export async function readBalances(
  address: string,
  network: Network,
  urls: readonly string[],
  mints: MintTable = knownMints[network],
): Promise<Readonly<Record<string, string>>> {
  const http = createHttpTransport()
  const minted = ['USDC', 'NATIVE', ...listTokens(mints).filter((code) => !isKnownCode(code))].flatMap((code) => {
    const mint = findMint(code, mints)
    return mint ? [{ code, mint }] : []
  })
  const question = { wallet: address, recipient: address, mints: minted.map(({ mint }) => mint) }
  const funds = await readFunds(createRpc({ urls, transport: http.transport }), question)
  await http.close()
  if (funds.kind === 'unavailable') {
    const message = `The ${network} node cannot be read (${funds.why}). Check --rpc.`
    throw new CommandError('unreachable', 'chain_unavailable', message)
  }
  const tokens = minted.map(({ code, mint }, index) => [
    code,
    formatUnits(funds.tokens[index]?.units ?? 0n, mint.decimals),
  ])
  return { SOL: formatUnits(funds.lamports, solDecimals), ...Object.fromEntries(tokens) }
}
