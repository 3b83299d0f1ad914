/** `paystile desk`: a desk that exchanges test tokens, for services that convert their revenue. */
import { join } from 'node:path'
import { createWallet, type Wallet } from '../../chain/keys/keypair.ts'
import { createRpc } from '../../chain/rpc/rpc.ts'
import { shareRates } from '../../compose/rates.ts'
import { knownMints, type MintTable, type Network } from '../../core/money/tokens.ts'
import type { Log } from '../../core/runtime.ts'
import { createWallClock } from '../../host/clock.ts'
import { localnetDirectory } from '../../host/home.ts'
import { makeKeyFile, withKeyFile } from '../../host/keys/key-file.ts'
import { createLog } from '../../host/log.ts'
import { createHttpTransport } from '../../host/net/transport.ts'
import { readRatesOption } from '../../paywall/config/rates.ts'
import { createDesk } from '../../venues/desk.ts'
import { untilStopped } from '../local-chain.ts'
import { chooseNetwork } from '../network.ts'
import { readWhole } from '../numbers.ts'
import { CommandError, type ExitCode, exitCodes, paint, type Terminal, table, usage } from '../output.ts'
import { readMint } from '../payment-options.ts'
import type { Flags, NodeFlags } from '../run.ts'
import { listNodes, readChain, type TestNetwork } from '../test-network.ts'
import { type DeskServer, listenForDesk } from './desk-server.ts'

interface DeskCommandOptions extends NodeFlags, Flags<'key' | 'port' | 'host' | 'spread' | 'rates'> {
  readonly mint: readonly string[]
}

const usualPort = 8403
const usualSpread = 30

export async function desk(terminal: Terminal, options: DeskCommandOptions): Promise<ExitCode> {
  const network = chooseNetwork(options.network)
  if (network === 'mainnet') throw usage('The desk trades only test money. Use --network devnet or localnet.')
  const running = await openDesk({
    network,
    urls: listNodes(network, options.rpc),
    keyFile: options.key,
    port: readWhole('--port', options.port, 0, 65_535) ?? usualPort,
    host: options.host ?? '127.0.0.1',
    spreadBps: readWhole('--spread', options.spread, 0, 1_000) ?? usualSpread,
    rates: options.rates,
    mints: { ...knownMints[network], ...Object.fromEntries(options.mint.map(readMint)) },
    log: createLog(),
  })
  const { url, address } = running
  const rows = [
    ['Address', url],
    ['Wallet', address],
    ['Network', network],
  ]
  terminal.result({ url, address, network, venue: { kind: 'rfq', url } }, [
    paint.bold('The desk is running and exchanges test tokens.'),
    '',
    ...table(rows),
    '',
    `Use it for conversions: venue: { kind: rfq, url: ${url} }`,
    ...(network === 'devnet' ? ['It sells from its wallet: send it test tokens and SOL.'] : []),
    'Press Ctrl-C to stop.',
  ])
  await untilStopped()
  await running.close()
  return exitCodes.ok
}

export interface DeskSetup {
  readonly network: TestNetwork
  readonly urls: readonly string[]
  /** On a localnet a key is created if none is given. */
  readonly keyFile: string | undefined
  readonly port: number
  readonly host: string
  readonly spreadBps: number
  /** As on the command line; undefined for test rates. */
  readonly rates?: string | undefined
  readonly mints: MintTable
  readonly log: Log
}

export interface RunningDesk extends DeskServer {
  /** The address of its wallet. */
  readonly address: string
}

/** Opens a desk. On a localnet the chain's faucet funds its wallet. */
export async function openDesk(setup: DeskSetup): Promise<RunningDesk> {
  const { network, urls, mints, spreadBps, log } = setup
  const http = createHttpTransport()
  const rpc = createRpc({ urls, transport: http.transport })
  const clock = createWallClock()
  const rates = shareRates({ get: http.get, clock, log })
  const stop = async (): Promise<void> => {
    await rates.stop()
    rpc.close()
    await http.close()
  }
  try {
    const genesis = await readChain(rpc, network)
    const wallet = await openKey(setup, genesis)
    if (network === 'localnet') await fill(urls[0] ?? '', wallet.address)
    const feed = rates.open(readRates(setup.rates, network, mints), mints)
    const trading = createDesk({ rpc, genesis, wallet, mints, rates: feed.current, spreadBps, clock, log })
    const server = await listenForDesk(trading, setup).catch((error: unknown) => {
      throw explain(error, setup)
    })
    const close = async (): Promise<void> => {
      await server.close()
      await stop()
    }
    return { url: server.url, address: wallet.address, close }
  } catch (error) {
    await stop()
    throw error
  }
}

async function openKey({ network, keyFile }: DeskSetup, genesis: string): Promise<Wallet> {
  if (keyFile === undefined && network !== 'localnet')
    throw usage(`On ${network} the desk needs a wallet. Create one with npx paystile keys new, and pass it with --key.`)
  const path = keyFile ?? join(localnetDirectory(genesis), 'desk.json')
  if (keyFile === undefined) makeKeyFile(path)
  try {
    return await withKeyFile(path, createWallet)
  } catch (error) {
    throw new CommandError('wallet', 'wallet_unusable', (error as Error).message)
  }
}

/** The most that the faucet gives at once. */
const stock = { SOL: '1000', USDC: '1000000', NATIVE: '1000000' }

async function fill(url: string, address: string): Promise<void> {
  for (const [token, amount] of Object.entries(stock)) {
    const response = await fetch(`${url.replace(/\/$/, '')}/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ address, token, amount }),
    })
    if (response.ok) continue
    const why = `The localnet did not fund the desk with ${token} (status ${response.status}). Check that npx paystile localnet runs there.`
    throw new CommandError('unreachable', 'no_faucet', why)
  }
}

function readRates(text: string | undefined, network: Network, mints: MintTable) {
  const problems: string[] = []
  const pairs = (text ?? '').split(',').map((pair) => pair.split('='))
  const isTable = text?.includes('=') === true
  const rates = readRatesOption(isTable ? Object.fromEntries(pairs) : text, network, mints, problems)
  if (problems.length > 0) throw usage(`--rates cannot be used: ${problems.join('; ')}.`)
  return rates
}

function explain(error: unknown, { host, port }: DeskSetup): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'EADDRINUSE') return error
  return new CommandError('usage', 'port_in_use', `Port ${port} of ${host} is in use. Choose another with --port.`)
}
