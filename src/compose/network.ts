/**
 * Connects a service to its network: a public cluster, a local chain elsewhere, or a local chain that it starts in this
 * process.
 */
import { readGenesis } from '../chain/rpc/genesis.ts'
import { createRpc, type Rpc } from '../chain/rpc/rpc.ts'
import { readChainTime } from '../chain/rpc/time.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { PaystileError } from '../core/errors/paystile-error.ts'
import { genesisHashes } from '../core/money/tokens.ts'
import { createMeter, type Meter } from '../core/observability/metrics.ts'
import type { Keyring } from '../core/protocol/keyring.ts'
import type { Clock, Log } from '../core/runtime.ts'
import { createFollowingClock, createWallClock } from '../host/clock.ts'
import {
  announceLocalnet,
  freshSecret,
  localLedgerFile,
  localnetDirectory,
  localSecret,
  usualLedger,
  withdrawLocalnet,
} from '../host/home.ts'
import { createHttpTransport } from '../host/net/transport.ts'
import { findProcesses } from '../host/processes.ts'
import type { Localnet } from '../localnet/index.ts'
import { openKeyring, type ServiceConfig } from '../paywall/config/config.ts'
import { countInnerServers } from './open-paywalls.ts'

/** Functions that close the opened parts, called in reverse order. */
export type Stops = (() => Promise<void> | void)[]

/** The differences between a public cluster, a local chain elsewhere and one in this process. */
export interface NetworkContext {
  readonly clock: Clock
  readonly rpc: Rpc
  readonly urls: readonly string[]
  readonly genesis: string
  readonly keyring: Keyring
  /** The ledger of a service without the option `ledger`. */
  readonly usualLedger: () => string
  /**
   * Prepares a recipient to receive, where test tokens are free. Resolves when it can receive, or cannot be prepared.
   */
  readonly prepareRecipient: (recipient: string) => Promise<void>
}

type Connect = (urls: readonly string[]) => Rpc

export interface OpenNetwork {
  readonly http: ReturnType<typeof createHttpTransport>
  readonly meter: Meter
  readonly context: NetworkContext
}

/** Opens the network of a service once. A local chain in this process survives the attempts to open the ledger. */
export function keepNetwork(config: ServiceConfig, log: Log) {
  const stops: Stops = []
  let opened: OpenNetwork | undefined
  const close = (): Promise<void> => closeAll(stops)
  return {
    open: async (): Promise<OpenNetwork> => {
      if (opened) return opened
      const http = createHttpTransport()
      stops.push(http.close)
      const meter = createMeter()
      const connect = (urls: readonly string[]) => createRpc({ urls, transport: http.transport, meter })
      try {
        opened = { http, meter, context: await openNetwork(config, connect, stops, log) }
        return opened
      } catch (error) {
        await close()
        throw error
      }
    },
    close,
  }
}

export async function closeAll(stops: Stops): Promise<void> {
  for (const one of stops.splice(0).reverse()) await one()
}

async function openNetwork(config: ServiceConfig, connect: Connect, stops: Stops, log: Log): Promise<NetworkContext> {
  if (config.network !== 'localnet') return openCluster(config, connect)
  return config.rpc.length > 0 ? joinLocalnet(config, connect, stops) : hostLocalnet(config, connect, stops, log)
}

function openCluster({ network, rpc, keyring }: ServiceConfig, connect: Connect): NetworkContext {
  const genesis = genesisHashes[network]
  if (!keyring || genesis === undefined) throw new ConfigurationError([`secret: ${network} needs a keyring`])
  const common = { clock: createWallClock(), genesis, keyring, prepareRecipient: async () => {} }
  return { ...common, rpc: connect(rpc), urls: rpc, usualLedger: () => usualLedger(network) }
}

async function joinLocalnet(config: ServiceConfig, connect: Connect, stops: Stops): Promise<NetworkContext> {
  const rpc = connect(config.rpc)
  const genesis = await readGenesis(rpc.call)
  if (genesis === undefined) {
    throw new PaystileError(
      'chain_unavailable',
      'the local chain given as rpc does not respond; start one with: npx paystile localnet',
    )
  }
  const clock = createFollowingClock(() => readChainTime(rpc))
  stops.push(clock.stop)
  await clock.sync()
  const directory = localnetDirectory(genesis)
  const keyring = config.keyring ?? madeKeyring(localSecret(directory))
  return {
    clock,
    rpc,
    urls: config.rpc,
    genesis,
    keyring,
    usualLedger: () => localLedgerFile(directory),
    prepareRecipient: findProcesses()?.prepareRecipient ?? (async () => {}),
  }
}

/** The chain ends with this process, so its ledger needs no file. */
async function hostLocalnet(config: ServiceConfig, connect: Connect, stops: Stops, log: Log): Promise<NetworkContext> {
  const { startLocalnet } = await import('../localnet/index.ts')
  const localnet = await startLocalnet()
  const genesis = localnet.genesisHash
  stops.push(localnet.close)
  // One server for JSON-RPC, one for WebSockets.
  stops.push(countInnerServers(2))
  announceLocalnet({ genesis, rpcUrl: localnet.rpcUrl })
  stops.push(() => withdrawLocalnet(genesis))
  log.info('localnet.started', { rpc: localnet.rpcUrl, money: 'npx paystile faucet' })
  const { monotonic } = createWallClock()
  return {
    clock: { now: localnet.now, monotonic },
    rpc: connect([localnet.rpcUrl]),
    urls: [localnet.rpcUrl],
    genesis,
    keyring: config.keyring ?? madeKeyring(freshSecret()),
    usualLedger: () => 'memory:',
    prepareRecipient: createRecipients(localnet),
  }
}

/** Prepares each recipient of a local chain once. */
export function createRecipients(localnet: Pick<Localnet, 'endow' | 'fund'>): NetworkContext['prepareRecipient'] {
  const recipients = new Map<string, Promise<void>>()
  return (recipient) => {
    // A transfer to a recipient would count as an unclaimed payment.
    if (!recipients.has(recipient)) localnet.endow(recipient, 10_000_000n)
    const prepared =
      recipients.get(recipient) ??
      localnet.fund(recipient, { USDC: 0n, NATIVE: 0n, EURC: 0n }).then(
        () => {},
        () => {},
      )
    recipients.set(recipient, prepared)
    return prepared
  }
}

/** Creates a keyring from a generated secret. */
function madeKeyring(secret: string): Keyring {
  const problems: string[] = []
  const keyring = openKeyring(secret, problems)
  if (!keyring) throw new ConfigurationError(problems)
  return keyring
}
