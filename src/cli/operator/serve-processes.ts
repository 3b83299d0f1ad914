/** `paystile serve --processes`: the supervisor of the gateway's processes, and one of these processes. */
import cluster from 'node:cluster'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { createRecipients } from '../../compose/network.ts'
import { openLog } from '../../compose/paywall.ts'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { PaystileError } from '../../core/errors/paystile-error.ts'
import { parseLedgerUrl } from '../../core/ports/ledger-url.ts'
import { isTextFile, readText } from '../../gateway/config/file.ts'
import type { Plan } from '../../gateway/config/plan.ts'
import { type Gateway, openGateway, type PreparedPlan } from '../../gateway/gateway.ts'
import { createPriceEditor } from '../../gateway/price-editor.ts'
import { joinProcesses } from '../../host/processes.ts'
import type { ReadinessReport } from '../../paywall/runtime/catalog.ts'
import { startOwnChain, untilStopped } from '../local-chain.ts'
import { type CommandError, type ExitCode, exitCodes, type Terminal, usage } from '../output.ts'
import { createChannel, type Handlers } from '../processes/channel.ts'
import { createMember, type SupervisorChannel } from '../processes/member.ts'
import { answers, type Settings, toProcess, type toSupervisor } from '../processes/messages.ts'
import { createSupervisor } from '../processes/supervisor.ts'
import { followChanges } from './config-changes.ts'

export type ShortReport = Pick<ReadinessReport, 'ready' | 'offered'> & { readonly why?: string | undefined }

/** A command that serves, in one process or in several. */
export interface ServeRun {
  readonly terminal: Terminal
  readonly path: string
  readonly count: number
  readonly isWatching: boolean
  readonly plan: Plan
  /** Loads `.env` again. Throws if it cannot be read. */
  loadSecrets(): { undo(): void }
  /** The variables of `.env` that count. */
  variables(): Readonly<Record<string, string>>
  /** From a text instead of the file, if one is given. */
  readPlan(text?: string): Promise<Plan>
  announce(url: string): void
  tellReadiness(report: ShortReport): void
  /** Reports a reload, with the number of routes after it. */
  tellReload(reload: () => Promise<void>, countRoutes: () => number): () => Promise<void>
}

/** Runs the processes until the command is stopped. */
export async function superviseProcesses(run: ServeRun): Promise<ExitCode> {
  const { terminal, path, plan, count } = run
  checkLedger(plan)
  const stopped = untilStopped()
  const chain = await openChain(plan)
  let isTold = false
  let routes = plan.routes.length
  const place = { host: plan.host, port: plan.port === 0 ? await findFreePort(plan.host) : plan.port }
  const read = (): Settings => ({
    ...(isTextFile(path) && { text: readText(path) }),
    ...{ variables: { ...run.variables() }, ...place },
  })
  cluster.setupPrimary({ args: process.argv.slice(2), serialization: 'advanced' })
  const supervisor = createSupervisor({
    count,
    settings: read(),
    readSettings: async () => {
      const { undo } = run.loadSecrets()
      try {
        const settings = read()
        const next = await run.readPlan(settings.text)
        checkLedger(next)
        routes = next.routes.length
        return { settings, undo }
      } catch (error) {
        undo()
        throw error
      }
    },
    readiness: (report) => {
      if (!isTold) run.tellReadiness(report)
      isTold = true
    },
    prepareRecipient: ({ recipient }) => chain.prepareRecipient(recipient),
    log: openLog(plan.service.log),
  })
  const restart = (): void =>
    void supervisor.restart().then(
      () => terminal.note(`Replaced all ${count} processes.`),
      (error: Error) => terminal.note(`Not all processes were replaced: ${error.message}.`),
    )
  process.on('SIGUSR2', restart)
  const reloads = followChanges(
    path,
    run.isWatching,
    run.tellReload(supervisor.reload, () => routes),
  )
  try {
    const started = supervisor.start().then(run.announce)
    await Promise.race([stopped, supervisor.failed, started.then(() => Promise.race([stopped, supervisor.failed]))])
    terminal.note('Stopping…')
    return exitCodes.ok
  } finally {
    process.off('SIGUSR2', restart)
    await Promise.all([reloads.stop(), supervisor.stop()])
    await chain.close()
  }
}

/** Serves as one of the processes. The supervisor reports the results and the failures. */
export async function serveAsProcess(
  run: Pick<ServeRun, 'path' | 'readPlan' | 'count'>,
  explain: Explain,
): Promise<ExitCode> {
  const stopped = untilStopped()
  // Signals to the whole group reach the supervisor too, which passes them on.
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {})
  const variables = createVariables()
  let prepared: { readonly plan: PreparedPlan; undo(): void } | undefined
  let stop: () => void = () => {}
  const told = new Promise<void>((resolve) => {
    stop = resolve
  })
  const abort = (): void => {
    prepared?.plan.abort()
    prepared?.undo()
    prepared = undefined
  }
  const readPlan = async ({ text, host, port }: Settings): Promise<Plan> => {
    const plan = await run.readPlan(text)
    return { ...plan, host, port, connections: Math.max(1, Math.floor(plan.connections / run.count)) }
  }
  const handlers: Handlers<typeof toProcess> = {
    prepare: async (settings) => {
      const undo = variables.put(settings.variables)
      try {
        if (!gateway) throw new Error('the process has not started')
        prepared = { plan: await gateway.prepare(await readPlan(settings)), undo }
      } catch (error) {
        undo()
        throw error
      }
    },
    commit: async () => {
      const { plan } = prepared ?? {}
      prepared = undefined
      await plan?.commit()
    },
    abort,
    lead: () => member.lead(),
    dump: () => member.dump(),
    notice: ({ service, notice }) => member.take(service, notice),
    stop: () => stop(),
  }
  const channel: SupervisorChannel = createChannel<typeof toSupervisor, typeof toProcess>({
    send: (message) => void (process.connected && process.send?.(message)),
    kinds: toProcess,
    handlers,
    onInvalid: (why) => openLog(undefined).warn('process.message_dropped', { why }),
  })
  const member = createMember(channel)
  process.on('message', channel.receive)
  // Without its supervisor, a process serves its last responses and ends.
  process.once('disconnect', () => {
    channel.close()
    stop()
  })
  joinProcesses(member)
  let gateway: Gateway | undefined
  let place = { host: '', port: 0 }
  try {
    const settings = answers.settings.parse(await channel.ask('hello', undefined))
    place = settings
    variables.put(settings.variables)
    const reloadAll = async (): Promise<void> => void (await channel.ask('reload', undefined))
    const prices = createPriceEditor({
      ...{ path: run.path, environment: process.env, plan: () => opened.plan, reload: reloadAll },
    })
    const opened = openGateway(await readPlan(settings), { reloadAll, prices })
    gateway = opened
    const url = await opened.listen()
    channel.tell('serving', { url })
    void opened.readiness().then(({ ready, offered, why }) => {
      channel.tell('readiness', { ready, offered: [...offered], why })
    })
    await Promise.race([stopped, told])
    return exitCodes.ok
  } catch (error) {
    const { code, message, exitCode } = describeFailure(explain(error, place))
    await channel.ask('failed', { code, message, exitCode }).catch(() => {})
    return exitCodes.failure
  } finally {
    abort()
    await gateway?.close()
    await channel.ask('ended', member.dump()).catch(() => {})
    if (process.connected) process.disconnect()
  }
}

type Explain = (error: unknown, place: Pick<Plan, 'host' | 'port'>) => unknown

function describeFailure(error: unknown): Pick<CommandError, 'code' | 'message' | 'exitCode'> {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ConfigurationError) return { code: 'configuration', message, exitCode: exitCodes.usage }
  if (error instanceof PaystileError && 'exitCode' in error) return error as CommandError
  return { code: 'failed', message, exitCode: exitCodes.failure }
}

/** A ledger in the memory of one process would let each process sell the same payment. */
function checkLedger({ routes }: Plan): void {
  const isSplit = routes.some(({ config }) => {
    const ledger = config?.service.ledger
    return typeof ledger === 'object' || (ledger !== undefined && parseLedgerUrl(ledger)?.kind === 'memory')
  })
  if (isSplit)
    throw usage('The ledger of several processes must be a file or PostgreSQL. Change ledger, or remove --processes.')
}

/** A local chain runs once, beside the processes, which find it by the environment. */
async function openChain({ routes }: Plan) {
  const service = routes.find(({ config }) => config)?.config?.service
  if (service?.network !== 'localnet' || service.rpc.length > 0)
    return { prepareRecipient: async () => {}, close: async () => {} }
  const chain = await startOwnChain({ port: 0 })
  chain.announce()
  process.env['PAYSTILE_RPC'] = chain.localnet.rpcUrl
  return { prepareRecipient: createRecipients(chain.localnet), close: chain.close }
}

/** All processes must listen on the same port, also after all of them ended. */
function findFreePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, host, () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}

/** The variables of `.env` in this process. */
function createVariables() {
  let names: readonly string[] = []
  const put = (variables: Readonly<Record<string, string>>): (() => void) => {
    const before = Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']))
    for (const name of names) delete process.env[name]
    Object.assign(process.env, variables)
    names = Object.keys(variables)
    return () => void put(before)
  }
  return { put }
}
