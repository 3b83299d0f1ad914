/** `paystile localnet`: a Solana chain on this machine, for your own tools. */
import { startOwnChain, untilStopped } from '../local-chain.ts'
import { readWhole } from '../numbers.ts'
import { type ExitCode, exitCodes, paint, type Terminal, table } from '../output.ts'
import type { Flags } from '../run.ts'

type LocalnetCommandOptions = Flags<'port' | 'slotMs', 'keep'>

export async function localnet(terminal: Terminal, options: LocalnetCommandOptions): Promise<ExitCode> {
  const chain = await startOwnChain({
    port: readWhole('--port', options.port, 1, 65_534),
    slotMs: readWhole('--slot-ms', options.slotMs, 10, 60_000),
    keep: options.keep,
  })
  chain.announce()
  const { rpcUrl, wsUrl, genesisHash, mints } = chain.localnet
  const rows = [
    ['JSON-RPC', rpcUrl],
    ['WebSocket', wsUrl],
    ['Faucet', `${rpcUrl}/faucet`],
    ...Object.entries(mints).map(([code, { address }]) => [code, address]),
    ['Genesis', genesisHash],
    ...(options.keep ? [['Data in', chain.directory]] : []),
  ]
  terminal.result({ rpcUrl, wsUrl, network: 'localnet', genesis: genesisHash, faucetUrl: `${rpcUrl}/faucet`, mints }, [
    paint.bold('A local Solana chain is running.'),
    '',
    ...table(rows),
    '',
    'Get test money with: npx paystile faucet <address>',
    'Press Ctrl-C to stop.',
  ])
  await untilStopped()
  await chain.close()
  return exitCodes.ok
}
