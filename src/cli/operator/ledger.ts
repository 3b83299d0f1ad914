/** Opens the ledger of a service for a command beside the service. It requires the same secret. */
import { existsSync, readFileSync } from 'node:fs'
import { readGenesis } from '../../chain/rpc/genesis.ts'
import { createRpc } from '../../chain/rpc/rpc.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { genesisHashes, type Network, parseNodes } from '../../core/money/tokens.ts'
import { type Ledger, LedgerUnavailable } from '../../core/ports/ledger.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import type { Keyring } from '../../core/protocol/keyring.ts'
import { createWallClock } from '../../host/clock.ts'
import { findLocalnet, localLedgerFile, localnetDirectory, localSecretFile } from '../../host/home.ts'
import { createHttpTransport } from '../../host/net/transport.ts'
import { LedgerConfigurationError } from '../../ledger/identity.ts'
import { openLedger } from '../../ledger/open.ts'
import { type Environment, openKeyring, type ServiceConfig } from '../../paywall/config/config.ts'
import { readSubject } from '../doctor/subject.ts'
import { chooseNetwork } from '../network.ts'
import { CommandError, usage } from '../output.ts'
import type { Flags, NetworkFlags } from '../run.ts'

export type LedgerOptions = NetworkFlags & Flags<'ledger'>

/**
 * Opens the ledger for the duration of `work`. It is the ledger of a service that is started here: by `paystile.yaml`
 * and `.env`, the environment, or the chain that runs on this machine.
 */
export async function withLedger<Result>(
  options: LedgerOptions,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const { environment, config } = await findService(options)
  const network = options.network ?? config?.network ?? chooseNetwork(undefined)
  const given = options.ledger ?? chooseLedger(config) ?? environment['PAYSTILE_LEDGER']
  const rpc = config?.rpc ?? parseNodes(environment['PAYSTILE_RPC']) ?? []
  const isFound = Boolean(given) && Boolean(config?.keyring ?? environment['PAYSTILE_SECRET'])
  const genesis = network === 'localnet' ? await findChain(rpc, config, isFound) : genesisHashes[network]
  const directory = network === 'localnet' && genesis !== undefined ? localnetDirectory(genesis) : undefined
  const url = findUrl(given, network, directory)
  const keyring = config?.keyring ?? readSecret(environment, directory)
  const service = config?.service ?? (environment['PAYSTILE_SERVICE'] || 'default')
  const identity = { network, service, fingerprint: keyring.fingerprint, ...(genesis !== undefined && { genesis }) }
  const clock = createWallClock()
  try {
    const ledger = await openLedger(url, { clock, ownClock: network !== 'localnet', identity })
    return await work(ledger).finally(() => ledger.close())
  } catch (error) {
    if (error instanceof LedgerUnavailable)
      throw new CommandError('unreachable', 'ledger_unavailable', sentence(error.message))
    if (error instanceof LedgerConfigurationError) throw new CommandError('usage', 'configuration', error.plainMessage)
    throw error
  }
}

const timeoutMs = 5_000

/**
 * The chain of a service on a localnet: the chain of its nodes. Without a described service it is the chain that runs
 * on this machine. Undefined if it is unknown and not needed.
 */
async function findChain(rpc: readonly string[], config: ServiceConfig | undefined, isFound: boolean) {
  const [url] = rpc
  if (url === undefined) return config ? undefined : findLocalnet()?.genesis
  const http = createHttpTransport()
  try {
    const genesis = await readGenesis(createRpc({ urls: rpc, transport: http.transport, timeoutMs }).call)
    if (genesis !== undefined || isFound) return genesis
  } finally {
    await http.close()
  }
  const message = `The local chain at ${new URL(url).origin} does not respond. Start it, or set --ledger.`
  throw new CommandError('unreachable', 'chain_unavailable', message)
}

interface Found {
  readonly environment: Environment
  /** Undefined if no file describes a service. */
  readonly config: ServiceConfig | undefined
}

async function findService({ ledger }: LedgerOptions): Promise<Found> {
  const { file, environment, problems, routes } = await readSubject(undefined, process.env)
  if (file === undefined) return { environment, config: undefined }
  if (problems.length > 0 && ledger === undefined) throw new ConfigurationError(problems)
  return { environment, config: routes[0]?.config.service }
}

function chooseLedger(config: ServiceConfig | undefined): string | undefined {
  if (!config) return undefined
  const { network, rpc, ledger } = config
  if (network === 'localnet' && rpc.length === 0 && ledger === undefined) throw usage(`${whyHidden(config)}.`)
  return typeof ledger === 'string' ? ledger : undefined
}

/**
 * The reason that other processes cannot read the ledger of a service, with a remedy; undefined if they can. A ledger
 * in memory that is opened here would be a new, empty one, and every check would pass.
 */
export function whyHidden({ network, rpc, ledger }: ServiceConfig): string | undefined {
  if (network === 'localnet' && rpc.length === 0)
    return 'This service keeps its chain and payments in memory. To access them, run npx paystile localnet and set its address as rpc'
  if (typeof ledger !== 'string' || parseLedgerUrl(ledger)?.kind !== 'memory') return undefined
  return 'This service keeps its payments in memory, so other processes cannot read them. Set ledger: to a file, such as ledger.sqlite, and restart it'
}

/** A missing file is an error. It is not created. */
function findUrl(given: string | undefined, network: Network, directory: string | undefined): string {
  const named = given || undefined
  const url = named ?? (directory === undefined ? `.paystile/${network}.sqlite` : localLedgerFile(directory))
  const place = parseLedgerUrl(url)
  if (place?.kind === 'memory')
    throw usage('A ledger in memory is visible only to its own process. Set ledger: to a file or a database.')
  if (place?.kind !== 'sqlite' || existsSync(place.path)) return url
  const hint = named === undefined ? 'set --ledger or PAYSTILE_LEDGER' : 'check --ledger and PAYSTILE_LEDGER'
  throw usage(`There is no ledger at ${place.path}; ${hint}.`)
}

function readSecret(environment: Environment, directory: string | undefined): Keyring {
  const problems: string[] = []
  const keyring = openKeyring(findSecret(environment, directory), problems)
  if (keyring) return keyring
  throw usage(`${problems.join('; ')}.`)
}

function findSecret(environment: Environment, directory: string | undefined): string {
  const secret = environment['PAYSTILE_SECRET']
  if (secret) return secret
  const file = directory && localSecretFile(directory)
  if (file && existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw usage('PAYSTILE_SECRET is missing. Set it to the secret of the service.')
}

function sentence(message: string): string {
  return message.endsWith('.') ? message : `${message}.`
}
