/** Checks the surroundings of the gateway: the upstream, its own port, and its public address. */

import http from 'node:http'
import https from 'node:https'
import { endpoints } from '../../api/http/paths.ts'
import { parseFields } from '../../core/encoding/fields.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { Plan, UpstreamPlan } from '../../gateway/config/plan.ts'
import { isSelf } from '../../gateway/config/self.ts'
import { tryPort } from '../local-chain.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const timeoutMs = 5_000

export async function checkUpstreams(plan: Plan): Promise<readonly Finding[]> {
  const upstreams = new Map(
    plan.routes.map(({ upstream }) => [`${upstream.origin}${upstream.prefix} ${upstream.probe.path}`, upstream]),
  )
  const findings = await Promise.all([...upstreams.values()].map((upstream) => lookUp(upstream, plan)))
  return findings.flat()
}

async function lookUp({ origin, prefix, headers, probe }: UpstreamPlan, plan: Plan): Promise<readonly Finding[]> {
  const name = `${origin}${prefix}`
  if (await isSelf(origin, plan)) {
    return [
      fail(
        `${name} is the gateway itself, so every request would loop`,
        'set upstream to the address of your own service',
      ),
    ]
  }
  if (probe.path !== undefined) {
    const health = await ask(`${origin}${probe.path}`, 'GET', headers)
    if (health.kind === 'answered' && health.status < 400) return [ok(`${name} is healthy (${probe.path})`)]
    const why = health.kind === 'silent' ? health.why : String(health.status)
    const words = `${origin}${probe.path} does not report a healthy service (${why}), so its routes sell nothing`
    return [fail(words, 'start your service, or correct probe.path in the configuration')]
  }
  const answer = await ask(`${name}/`, 'HEAD')
  if (answer.kind === 'silent') {
    return [
      fail(
        `${name} does not respond (${answer.why}), so its routes sell nothing`,
        'start your service, or correct upstream in the configuration',
      ),
    ]
  }
  const words = `${name} responds (${answer.status})`
  // Any response to HEAD / is accepted except a server error. 501 only means that the upstream does not support HEAD.
  return [answer.status >= 500 && answer.status !== 501 ? warn(words, 'see the log of your service') : ok(words)]
}

type Asked =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  | { readonly kind: 'silent'; readonly why: string }

/** Does not use `fetch`, which blocks some ports that a service may use. */
function ask(url: string, method: 'GET' | 'HEAD', headers: Readonly<Record<string, string>> = {}): Promise<Asked> {
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve) => {
    const outgoing = request(url, { method, headers, timeout: timeoutMs, agent: false }, (response) => {
      let body = ''
      const status = response.statusCode ?? 0
      const done = (): void => {
        resolve({ kind: 'answered', status, body })
        response.destroy()
      }
      response.on('data', (chunk) => {
        body += String(chunk)
        if (body.length > longestAnswer) done()
      })
      response.on('close', done)
    })
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error(), { code: 'no response in time' })))
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ kind: 'silent', why: error.code ?? 'no connection' }),
    )
    outgoing.end()
  })
}

const longestAnswer = 10_000

/** Identifies a service. */
export interface ServiceMark {
  readonly network: Network
  readonly service: string
  /** Undefined if the chain is unknown. */
  readonly genesis: string | undefined
  /** The public key of its receipts; undefined if the secret is unknown. */
  readonly identityKey: string | undefined
}

/** `mark` is undefined if nothing is sold. */
export async function checkPort({ host, port }: Pick<Plan, 'host' | 'port'>, mark: ServiceMark | undefined) {
  if (port === 0) return { findings: [ok('any free port is used')], isServing: false }
  const code = await tryPort(host, port)
  const place = `${host}:${port}`
  if (code === undefined) return { findings: [ok(`${place} is free`)], isServing: false }
  const edit = 'change listen in the configuration'
  const stop = `stop the program that uses ${place}, or ${edit}`
  if (code !== 'EADDRINUSE') {
    const words =
      code === 'EACCES' ? `this user may not listen on ${place}` : `${host} is not an address of this machine (${code})`
    return { findings: [fail(words, edit)], isServing: false }
  }
  const origin = `http://${formatHost(host)}:${port}`
  const ready = readReady(await ask(`${origin}${endpoints.ready}`, 'GET'))
  const whose = ready && mark ? isOf(mark, await ask(`${origin}${endpoints.wellKnown}`, 'GET')) : 'own'
  if (whose === 'other') {
    const words = `another paystile service uses ${place}, with another network, name, chain or key`
    return { findings: [fail(words, stop)], isServing: false }
  }
  if (ready && whose === 'unknown') {
    const words = `a paystile service that has not started uses ${place}; it may be this one`
    return { findings: [warn(words, 'see its log')], isServing: true }
  }
  if (!ready) return { findings: [fail(`another program uses ${place}`, stop)], isServing: false }
  const finding = ready.isReady
    ? ok(`paystile already runs on ${place}`)
    : warn(`paystile already runs on ${place}, but is not ready to sell: ${ready.why}`, 'see its log')
  return { findings: [finding], isServing: true }
}

/** Whether the response comes from this service. A service that is still starting does not say. */
function isOf({ network, service, genesis, identityKey }: ServiceMark, answer: Asked): 'own' | 'other' | 'unknown' {
  if (answer.kind === 'silent' || answer.status >= 500) return 'unknown'
  const told = parseFields(answer.body) ?? {}
  const wanted = Object.entries({ network, service, genesis, identityKey })
  const isOwn = wanted.every(([name, value]) => value === undefined || told[name] === value)
  return isOwn ? 'own' : 'other'
}

/** Undefined for a response that is not from paystile. */
function readReady(answer: Asked): { readonly isReady: boolean; readonly why: string } | undefined {
  if (answer.kind === 'silent') return undefined
  const { ready, why } = parseFields(answer.body) ?? {}
  return typeof ready === 'boolean' ? { isReady: ready, why: String(why ?? 'no reason given') } : undefined
}

function formatHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

export async function checkPublicUrl(
  publicUrl: string | undefined,
  network: Network,
  isServing: boolean,
): Promise<readonly Finding[]> {
  const mend = 'set publicUrl: https://… in the configuration (PAYSTILE_PUBLIC_URL)'
  if (publicUrl === undefined) {
    if (network !== 'mainnet') return []
    return [warn('is not set, so receipts contain the Host header that the client sent', mend)]
  }
  if (network === 'mainnet' && !publicUrl.startsWith('https:'))
    return [fail(`${publicUrl} is not https, so others could read proofs in transit`, mend)]
  const answer = await ask(`${publicUrl}${endpoints.wellKnown}`, 'GET')
  if (answer.kind === 'answered' && answer.status < 500) return [ok(`${publicUrl} responds (${answer.status})`)]
  const why = answer.kind === 'silent' ? answer.why : String(answer.status)
  const words = `${publicUrl} does not respond from here (${why})`
  const isNamed = why !== 'ENOTFOUND'
  if (!isServing && isNamed) return [warn(words, 'start the service, and run npx paystile doctor again')]
  return [warn(words, 'check that DNS and the reverse proxy point to this machine')]
}
