/**
 * `paystile doctor`: checks everything that a service needs and suggests remedies. It creates and changes nothing,
 * prints no secret, and continues after any failure.
 */
import { relative } from 'node:path'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { toOneLine } from '../../core/encoding/one-line.ts'
import type { Network } from '../../core/money/tokens.ts'
import { createRedact } from '../../core/observability/redact.ts'
import type { SponsoredSums } from '../../core/ports/sponsor.ts'
import { fileNames } from '../../gateway/config/file.ts'
import { createIdentity } from '../../host/keys/ed25519.ts'
import { createHttpTransport } from '../../host/net/transport.ts'
import type { ServiceConfig } from '../../paywall/config/config.ts'
import { type ExitCode, exitCodes, paint, type Terminal } from '../output.ts'
import { checkClock } from './clock.ts'
import { checkFacilitator } from './facilitator.ts'
import { attempt, type Finding, fail, type Level, type Look, type NamedFinding, ok } from './finding.ts'
import { checkNodes, type NetworkFacts } from './nodes.ts'
import { checkPayouts } from './payouts.ts'
import { checkRates } from './rates.ts'
import { checkRecipients } from './recipient.ts'
import { checkKeys, checkSecrets } from './secrets.ts'
import { checkSettlement } from './settlement.ts'
import { checkSponsor } from './sponsor.ts'
import { checkStore } from './store.ts'
import { findService, readSubject, type Subject } from './subject.ts'
import { checkPort, checkPublicUrl, checkUpstreams, type ServiceMark } from './web.ts'

export async function doctor(terminal: Terminal, file: string | undefined): Promise<ExitCode> {
  const subject = await readSubject(file, process.env)
  const { findings, isServing } = await examine(subject)
  const hide = createRedact({ environment: subject.environment, ...listSecrets(subject), showPaths: true })
  // A finding is one line. Texts of nodes and databases can contain control characters.
  const redact = (text: string): string => toOneLine(hide(text))
  const told = findings.map((one) => ({
    ...one,
    finding: redact(one.finding),
    ...(one.next !== undefined && { next: redact(one.next) }),
  }))
  const isWell = told.every(({ level }) => level !== 'fail')
  const next = nextSteps(subject, told, isServing).map(redact)
  const network = readNetwork(subject)
  const value = { ok: isWell, ...(subject.file !== undefined && { file: subject.file }), network, checks: told, next }
  terminal.result(value, [...told.flatMap(lines), '', 'Next steps:', ...next.map((step) => `  ${step}`)])
  return isWell ? exitCodes.ok : exitCodes.usage
}

type Add = (check: string, look: Look) => Promise<void>

async function examine(subject: Subject) {
  const findings: NamedFinding[] = []
  const add: Add = async (check, look) => {
    findings.push(...(await attempt(check, look)))
  }
  await add('node', checkRuntime)
  await add('config', () => checkConfig(subject))
  await add('secret', () => checkSecrets(subject))
  await add('keys', () => checkKeys(subject))
  let isServing = false
  const http = createHttpTransport()
  try {
    if (subject.problems.length === 0) isServing = await examineService(subject, http, add)
  } finally {
    await http.close()
  }
  return { findings, isServing }
}

/** All checks that need a configuration. Returns true if the service already runs. */
async function examineService(subject: Subject, http: ReturnType<typeof createHttpTransport>, add: Add) {
  const { routes, plan } = subject
  let context: NetworkFacts = { rpc: undefined, genesis: undefined }
  let aheadMs: number | undefined
  let sponsored: SponsoredSums | undefined
  let isServing = false
  const service = findService(subject)
  if (service) {
    const { network } = service
    await add('nodes', async () => {
      const report = await checkNodes(network, service.rpc, http.transport)
      context = report
      return report.findings
    })
    await add('recipient', () => checkRecipients(routes, network, context))
    await add('ledger', async () => {
      const report = await checkStore(service, context.genesis, {
        reportToken: plan?.reportToken,
        owes: plan?.service.rewards !== undefined || routes.some(({ config }) => config.route.conversion),
      })
      aheadMs = report.aheadMs
      sponsored = report.sponsored
      return report.findings
    })
    await add('clock', () => checkClock(network, context, aheadMs))
    await add('sponsor', () => checkSponsor(subject, { rpc: context.rpc, sponsored }, http.get))
    await add('payTo', () => checkFacilitator(subject, network, context))
    const charged = routes.map(({ config }) => config.route)
    if (plan) {
      await add('rates', () => checkRates(charged, http.get))
      await add('convert', () => checkSettlement(charged, context, http))
    }
  }
  await add('rewards', () => checkPayouts(subject, context, http.get))
  if (plan) {
    await add('upstream', () => checkUpstreams(plan))
    await add('port', async () => {
      const report = await checkPort(plan, service && createMark(service, context.genesis))
      isServing = report.isServing
      return report.findings
    })
  }
  const publicUrl = routes[0]?.config.route.publicUrl ?? plan?.publicUrl
  if (service) await add('publicUrl', () => checkPublicUrl(publicUrl, service.network, isServing))
  context.rpc?.close()
  return isServing
}

function createMark({ network, service, keyring }: ServiceConfig, genesis: string | undefined): ServiceMark {
  const identityKey = keyring && encodeBase58(createIdentity(keyring.identitySeed).publicKey)
  return { network, service, genesis, identityKey }
}

const [leastMajor, leastMinor] = [20, 19]

function checkRuntime(): readonly Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > leastMajor || (major === leastMajor && minor >= leastMinor)
  if (isEnough) return [ok(`Node ${process.versions.node}`)]
  return [
    fail(
      `Node ${process.versions.node} is too old`,
      `install Node ${leastMajor}.${leastMinor} or later from https://nodejs.org`,
    ),
  ]
}

function checkConfig(subject: Subject): readonly Finding[] {
  const { file, problems, plan, own, routes } = subject
  const name = file === undefined ? 'the environment' : relative('.', file)
  if (problems.length > 0) {
    return problems.map(({ code, message, remedy, variable }) => {
      if (code === 'not_configured') return fail(message, 'npx paystile init')
      const place = variable === undefined ? `edit ${name}` : `set ${variable} in .env, or in the environment`
      return fail(remedy === undefined ? message : `${message}; ${remedy}`, place)
    })
  }
  const network = findService(subject)?.network ?? 'no network'
  if (!plan) return [ok(`PAYSTILE_ variables for ${network}; the options in your program are not checked`)]
  const free = plan.routes.length - routes.length
  const paid = `${routes.length} paid ${routes.length === 1 ? 'route' : 'routes'}`
  const settles = own?.facilitator ? ', a facilitator' : ''
  return [ok(`${name}: ${paid}${free > 0 ? ` and ${free} free` : ''}${settles} on ${network}`)]
}

function readNetwork(subject: Subject): Network | null {
  return findService(subject)?.network ?? null
}

/** The parts of the configuration that no output may contain. */
function listSecrets(subject: Subject) {
  const { routes, plan } = subject
  const service = findService(subject)
  const addresses = routes.flatMap(({ config: { route } }) => [
    ...('url' in route.rates && route.rates.url ? [route.rates.url] : []),
  ])
  const keys = routes.flatMap(({ config: { route } }) => {
    const venue = route.conversion?.venue
    return [
      ...('apiKey' in route.rates && route.rates.apiKey ? [route.rates.apiKey] : []),
      ...(venue?.kind === 'jupiter' && venue.apiKey ? [venue.apiKey] : []),
    ]
  })
  const headers = plan?.routes.flatMap(({ upstream }) => Object.values(upstream.headers)) ?? []
  const opened = [...(service?.rpc ?? []), ...(typeof service?.ledger === 'string' ? [service.ledger] : [])]
  return {
    addresses: [...opened, ...addresses],
    secrets: [...keys, ...headers, ...(plan?.webhooks.flatMap(({ secret }) => secret ?? []) ?? [])],
  }
}

const colours: Readonly<Record<Level, (text: string) => string>> = {
  ok: paint.green,
  warn: paint.yellow,
  fail: paint.red,
}
const marks: Readonly<Record<Level, string>> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' }

function lines({ check, level, finding, next }: NamedFinding): readonly string[] {
  const line = `${colours[level](marks[level])}  ${check.padEnd(9)}  ${finding}`
  return next === undefined ? [line] : [line, `${' '.repeat(17)}→ ${next}`]
}

function nextSteps({ file, plan, own, routes }: Subject, findings: readonly Finding[], isServing: boolean) {
  const failed = findings.filter(({ level }) => level === 'fail')
  const named = file === undefined || relative('.', file) === fileNames[0] ? '' : ` ${relative('.', file)}`
  const again = `npx paystile doctor${named}`
  if (failed.length > 0) return [...new Set(failed.map(({ next = '' }) => next)), again]
  if (!plan) return ['start your program']
  if (routes.length === 0 && own?.facilitator)
    return [
      isServing ? 'give its address to your servers as the URL of their facilitator' : `npx paystile serve${named}`,
    ]
  const path = plan.routes[0]?.path.replace(/\*$/, 'hello').replace(/:[A-Za-z_]\w*/g, '1') ?? '/'
  const host = ['0.0.0.0', '::'].includes(plan.host) ? '127.0.0.1' : plan.host
  const pay = `npx paystile pay http://${host}:${plan.port}${path}`
  const isLocal = routes[0]?.config.service.network === 'localnet'
  const buy = isLocal ? `npx paystile faucet && ${pay}` : pay
  return isServing ? [buy] : [`npx paystile serve${named}`, buy]
}
