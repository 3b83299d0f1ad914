/** Opens the service of this directory for a command beside its servers: the same ledger, chain and secret. */
import { readFileSync } from 'node:fs'
import { type RoutesConfig, type RoutesOptions, readRoutesConfig } from '../../api/options.ts'
import { openHandle, openLog } from '../../compose/paywall.ts'
import { attempt } from '../../core/errors/attempt.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import type { Network } from '../../core/money/tokens.ts'
import { LedgerUnavailable } from '../../core/ports/ledger.ts'
import type { Log } from '../../core/runtime.ts'
import { findLocalnet, localLedgerFile, localnetDirectory, localServiceFile } from '../../host/home.ts'
import { LedgerConfigurationError } from '../../ledger/identity.ts'
import { type Environment, fromEnvironment } from '../../paywall/config/config.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { readSubject } from '../doctor/subject.ts'
import { chooseNetwork } from '../network.ts'
import { CommandError, type Terminal, usage } from '../output.ts'
import type { Flags, NetworkFlags } from '../run.ts'
import { whyHidden } from './ledger.ts'

export type ServiceOptions = NetworkFlags & Flags<'config' | 'ledger'>

/** Opens the service for the duration of `work`. Its messages go to stderr. */
export async function withService<Result>(
  terminal: Terminal,
  options: ServiceOptions,
  work: (service: Runtime, config: RoutesConfig) => Promise<Result>,
): Promise<Result> {
  const config = await findConfig(options)
  const why = whyHidden(config.service)
  if (why !== undefined) throw usage(`${why}.`)
  // A command reads payments and does not wait for new ones.
  const handle = openHandle({ ...config.service, watch: false }, openLog(logTo(terminal)))
  try {
    return await work(await handle.get(), config)
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw new CommandError('unreachable', 'ledger_unavailable', error.message)
    if (error instanceof LedgerConfigurationError) throw new CommandError('usage', 'configuration', error.plainMessage)
    throw error
  } finally {
    await handle.release()
  }
}

/** From `paystile.yaml` and `.env`, the environment, or the chain that runs on this machine. */
async function findConfig(options: ServiceOptions): Promise<RoutesConfig> {
  const { file, environment, problems, plan } = await readSubject(options.config, process.env)
  const { ledger } = options
  if (file !== undefined && plan === undefined) throw new ConfigurationError(problems)
  if (plan) return readRoutesConfig({ ...plan.service, ...(ledger !== undefined && { ledger }) }, environment)
  if (isUnnamed(options, environment) && !findLocalnet())
    throw usage(
      'No paystile.yaml in this directory, and no demo runs on this machine. Pass the configuration file, change to its directory, or start: npx paystile demo',
    )
  const network = options.network ?? chooseNetwork(undefined, environment)
  return readRoutesConfig({ ...findContext(network, ledger, environment), network }, environment)
}

/** Whether neither options nor environment name a service. */
function isUnnamed({ network, ledger }: ServiceOptions, environment: Environment): boolean {
  const isMeant = Object.values(fromEnvironment).some((name) => environment[name])
  return network === undefined && ledger === undefined && !isMeant
}

/** Nodes in the environment belong to the service, so no localnet of this machine is used. */
function findContext(network: Network, ledger: string | undefined, environment: Environment): RoutesOptions {
  if (network !== 'localnet' || environment['PAYSTILE_RPC']) return ledger === undefined ? {} : { ledger }
  const note = findLocalnet()
  if (!note) throw usage('No local chain runs on this machine. Start one with: npx paystile demo')
  const directory = localnetDirectory(note.genesis)
  return { ...demoAt(directory), rpc: note.rpcUrl, ledger: ledger ?? localLedgerFile(directory) }
}

/** The options of a demo that runs on this chain; empty without one. */
function demoAt(directory: string): RoutesOptions {
  return attempt(() => JSON.parse(readFileSync(localServiceFile(directory), 'utf8')) as RoutesOptions) ?? {}
}

function logTo(terminal: Terminal): Log {
  const tell = (event: string, facts: object = {}): void => {
    const { why } = facts as { readonly why?: string }
    terminal.note(why === undefined ? event : `${event}: ${why}`)
  }
  return { info: () => {}, warn: tell, error: tell }
}
