/** `paystile serve`: runs the gateway from a file. */
import cluster from 'node:cluster'
import { existsSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { endpoints } from '../../api/http/paths.ts'
import { checkSponsorKey } from '../../compose/sponsor.ts'
import { sentence } from '../../core/checkout/texts.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { formatUnits } from '../../core/money/money.ts'
import { isOneRequest } from '../../core/payment/allowance.ts'
import { fileNames, readPlanFile } from '../../gateway/config/file.ts'
import type { Plan, RoutePlan } from '../../gateway/config/plan.ts'
import { jsonSchema } from '../../gateway/config/schema.ts'
import { findSelf } from '../../gateway/config/self.ts'
import { openGateway } from '../../gateway/gateway.ts'
import { createPriceEditor } from '../../gateway/price-editor.ts'
import { type EnvReading, envFileName, followEnvFile, loadEnvFile } from '../../host/env-file.ts'
import type { FreeQuota, Pricing } from '../../paywall/config/pricing.ts'
import { untilStopped } from '../local-chain.ts'
import { readWhole } from '../numbers.ts'
import { CommandError, counted, type ExitCode, exitCodes, paint, type Terminal, table, usage } from '../output.ts'
import { isSupervised } from '../processes/running-process.ts'
import type { Flags } from '../run.ts'
import { followChanges, type Reloads } from './config-changes.ts'
import { type ServeRun, type ShortReport, serveAsProcess, superviseProcesses } from './serve-processes.ts'

type ServeOptions = Flags<'port' | 'host' | 'processes', 'check' | 'schema' | 'watch'>

export async function serve(terminal: Terminal, file: string | undefined, options: ServeOptions): Promise<ExitCode> {
  if (options.schema) {
    terminal.write(`${JSON.stringify(jsonSchema(), null, 2)}\n`)
    return exitCodes.ok
  }
  const port = readWhole('--port', options.port, 0, 65_535)
  const count = readProcesses(options.processes)
  const path = findFile(file)
  const readPlan = async (text?: string): Promise<Plan> => {
    const read = await readPlanFile(path, process.env, text)
    return { ...read, port: port ?? read.port, host: options.host ?? read.host }
  }
  if (count > 1 && cluster.isWorker) {
    if (!isSupervised()) {
      // An open channel would keep the process alive.
      cluster.worker?.disconnect()
      throw usage('--processes does not work in a process of another cluster, such as that of pm2. Use one of the two.')
    }
    return serveAsProcess({ path, readPlan, count }, explain)
  }
  const secrets = followEnvFile(dirname(path))
  noteSecrets(terminal, dirname(path), secrets.load().reading)
  const plan = await readPlan()
  const routes = plan.routes.map(describe)
  if (options.check) {
    for (const { config } of plan.routes) checkSponsorKey(config?.route.sponsor)
    const circles = await findSelf(plan)
    if (circles.length > 0) throw new ConfigurationError(circles.map((problem) => `${basename(path)}: ${problem}`))
    const lines = [`${basename(path)} is valid: ${formatCount(routes.length)}.`, '', ...createRows(routes)]
    return terminal.result({ ok: true, file: path, routes }, lines)
  }
  const loadSecrets = () => {
    const { reading, undo } = secrets.load()
    if (reading.kind !== 'unreadable') return { undo }
    undo()
    // Without this error its secrets would be missing silently.
    throw new Error(`${envFileName} cannot be read (${reading.why}).`)
  }
  const announce = (url: string): void => {
    terminal.result({ url, file: path, routes, processes: count }, [
      paint.bold(`Serving ${basename(path)} at ${url}${count > 1 ? ` with ${count} processes` : ''}`),
      '',
      ...createRows(routes),
      ...(plan.service.facilitator ? [`Facilitator for x402: ${url}${endpoints.facilitator}`] : []),
    ])
  }
  const run: ServeRun = {
    ...{ terminal, path, count, plan, isWatching: options.watch === true, loadSecrets, readPlan, announce },
    variables: secrets.values,
    tellReadiness: (report) => tellReadiness(terminal, report),
    tellReload: (reload, countRoutes) => () => tellReload(terminal, path, reload, countRoutes),
  }
  return count > 1 ? superviseProcesses(run) : serveAlone(run)
}

/** Serves in this process. */
async function serveAlone(run: ServeRun): Promise<ExitCode> {
  const { terminal, path, plan } = run
  const stopped = untilStopped()
  const reloadAll = async (): Promise<void> => {
    const { undo } = run.loadSecrets()
    try {
      await gateway.reload(await run.readPlan())
    } catch (error) {
      undo()
      throw error
    }
  }
  const prices = createPriceEditor({ path, environment: process.env, plan: () => gateway.plan, reload: reloadAll })
  const gateway = openGateway(plan, { reloadAll, prices })
  let reloads: Reloads | undefined
  try {
    const url = await gateway.listen().catch((error: unknown) => {
      throw explain(error, plan)
    })
    run.announce(url)
    void gateway.readiness().then(run.tellReadiness)
    reloads = followChanges(
      path,
      run.isWatching,
      run.tellReload(gateway.reloadAll, () => gateway.plan.routes.length),
    )
    await stopped
    terminal.note('Stopping…')
    return exitCodes.ok
  } finally {
    // A running reload ends with the gateway.
    await Promise.all([reloads?.stop(), gateway.close()])
  }
}

const mostProcesses = 64

/** The number of processes: one by default, one per core with `auto`. */
function readProcesses(text: string | undefined): number {
  if (text === 'auto') return Math.min(availableParallelism(), mostProcesses)
  if (text !== undefined && !/^\d+$/.test(text))
    throw usage(`--processes must be auto, or a whole number from 1 to ${mostProcesses}, not "${text}".`)
  return readWhole('--processes', text, 1, mostProcesses) ?? 1
}

/** Reports the outcome of a reload. */
async function tellReload(
  terminal: Terminal,
  path: string,
  reload: () => Promise<void>,
  countRoutes: () => number,
): Promise<void> {
  try {
    await reload()
    terminal.note(`Reloaded ${basename(path)}: ${formatCount(countRoutes())}.`)
  } catch (error) {
    terminal.note(`${paint.yellow('Not reloaded. The previous configuration stays active.')} ${explainReload(error)}`)
  }
}

/** The gateway runs, so the usual beginning of a configuration error would be wrong. */
function explainReload(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^paystile cannot start: ?/, '')
}

function formatCount(routes: number): string {
  return `${routes} ${routes === 1 ? 'route' : 'routes'}`
}

export function findFile(given: string | undefined): string {
  if (given !== undefined) {
    const stats = statSync(given, { throwIfNoEntry: false })
    if (stats?.isDirectory())
      throw new CommandError('usage', 'no_file', `${given} is a directory. Give the path of a configuration file.`)
    if (stats) return given
    throw new CommandError('usage', 'no_file', `The file ${given} does not exist. Create one with: npx paystile init`)
  }
  const found = fileNames.find((name) => existsSync(name))
  if (found !== undefined) return join('.', found)
  throw new CommandError(
    'usage',
    'no_file',
    `There is no ${fileNames[0]} and no ${fileNames[2]} in this directory. Create one with: npx paystile init`,
  )
}

/** Adds `.env` beside the configuration to the environment. Existing variables take precedence. */
export function readSecrets(terminal: Terminal, directory: string): void {
  noteSecrets(terminal, directory, loadEnvFile(directory))
}

function noteSecrets(terminal: Terminal, directory: string, reading: EnvReading): void {
  const path = join(directory, envFileName)
  if (reading.kind === 'unreadable') terminal.note(`${path} cannot be read (${reading.why}), so it is ignored.`)
  if (reading.kind === 'read' && reading.isOpen)
    terminal.note(`Other users of this machine can read ${path}. Run: chmod 600 ${path}`)
}

function describe({ name, path, config, upstream }: RoutePlan) {
  const methods = name.split(' ', 1)[0]?.split(',') ?? []
  // Omits the name and password of the address.
  return {
    methods,
    path,
    price: config ? formatPrice(config.route.pricing) : 'free',
    ...(config?.route.free && { free: formatFree(config.route.free) }),
    upstream: `${upstream.origin}${upstream.prefix}`,
  }
}

type RouteWords = ReturnType<typeof describe>

function formatPrice({ price, token, decimals, per }: Pricing): string {
  const amount = `${typeof price === 'function' ? 'a price per request in' : formatUnits(price, decimals)} ${token}`
  if (per.kind === 'bytes') return `${amount} / MB`
  const { unit, amount: count } = per.allowance
  if (isOneRequest(per.allowance)) return amount
  return `${amount} / ${unit === 'second' ? `${count} s` : `${count} requests`}`
}

const periods: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour', 86400: 'day' }

function formatFree({ requests, seconds }: FreeQuota): string {
  return `${counted(requests, 'request')} / ${periods[seconds] ?? `${seconds} s`} per client`
}

function createRows(routes: readonly RouteWords[]): readonly string[] {
  const formatTerms = ({ price, free }: RouteWords) => (free === undefined ? price : `${price}, free: ${free}`)
  return table(routes.map((route) => [route.methods.join(','), route.path, formatTerms(route), `→ ${route.upstream}`]))
}

/** Reports once which routes cannot sell yet. Later changes are in the log. */
function tellReadiness(terminal: Terminal, { ready, offered, why }: ShortReport): void {
  if (!ready)
    terminal.note(`${paint.yellow('Not ready to sell:')} ${sentence(why ?? '')} Run npx paystile doctor for help.`)
  else if (offered.length > 0) terminal.note(`Ready. Accepts ${offered.join(', ')}. Press Ctrl-C to stop.`)
}

function explain(error: unknown, { host, port }: Pick<Plan, 'host' | 'port'>): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CommandError('usage', 'port_in_use', `Port ${port} is in use. Choose another with --port.`)
  if (code === 'EACCES')
    return new CommandError('usage', 'port_refused', `This user may not use port ${port}. Choose another with --port.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CommandError(
      'usage',
      'host_unknown',
      `${host} is not an address of this machine. Choose another with --host.`,
    )
  return error
}
