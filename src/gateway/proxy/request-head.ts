/** Builds the request headers for an upstream: the forwarded client headers, the client's address, and the payment. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { PaymentFacts } from '../../paywall/delivery/receipt.ts'
import type { Plan, RoutePlan, UpstreamPlan } from '../config/plan.ts'
import { createFilter, factHeaders, passingHeaders, rememberNames } from '../headers.ts'

/** Headers as names and values in turn. */
export type Outgoing = (request: IncomingMessage, target: string, facts: PaymentFacts | undefined) => string[]

export function createOutgoing(plan: Plan, { upstream, config }: RoutePlan): Outgoing {
  const isPlain = config !== undefined && config.route.envelope !== 'none'
  const trustsProxy = plan.trustProxy > 0
  const passes = createFilter({ headers: upstream.headers, forward: upstream.forward, trustsProxy, isPlain })
  const addClient = createClientHeaders(plan, upstream)
  const fixed = Object.entries({ ...upstream.headers, ...(isPlain && { 'accept-encoding': 'identity' }) }).flat()
  const isKeyed = !('idempotency-key' in upstream.headers)
  const passesWithKey = rememberNames((name) => passes(name) && name !== 'idempotency-key')

  return (request, target, facts) => {
    const { headers, rawHeaders } = request
    const keep = facts ? passesWithKey : passes
    // A wrapped body must be whole. It has no validator, so only a client that continues another body sends `If-Range`.
    const isWhole = isPlain && headers.range !== undefined && headers['if-range'] === undefined
    const outgoing = passingHeaders(rawHeaders, isWhole ? (name) => name.toLowerCase() !== 'range' && keep(name) : keep)
    addClient(outgoing, request)
    outgoing.push(...fixed)
    if (!facts) return outgoing
    outgoing.push(...factHeaders(facts))
    const key = isKeyed ? keyFor(request, target, facts) : undefined
    if (key !== undefined) outgoing.push('idempotency-key', key)
    return outgoing
  }
}

/** Headers of a preflight, as browsers send them. */
const preflightHeader =
  /^(?:origin|access-control-request-.*|accept(?:-encoding|-language)?|user-agent|referer|sec-fetch-.*|x-request-id|trace(?:parent|state))$/

/** A preflight is free and never has credentials, so the keys among the provider's headers are not sent with it. */
export function createPreflightHead(plan: Plan, { upstream }: RoutePlan): (request: IncomingMessage) => string[] {
  const addClient = createClientHeaders(plan, upstream)
  const fixed = Object.entries(upstream.headers).filter(([name]) => name === 'host' || name === 'user-agent')
  const passes = rememberNames((name) => preflightHeader.test(name) && !fixed.some(([own]) => own === name))
  return (request) => {
    const outgoing = passingHeaders(request.rawHeaders, passes)
    addClient(outgoing, request)
    outgoing.push(...fixed.flat())
    return outgoing
  }
}

/** Adds the headers that describe the client and the address that it used. */
function createClientHeaders(plan: Plan, upstream: UpstreamPlan) {
  const trustsProxy = plan.trustProxy > 0
  const publicUrl = plan.publicUrl === undefined ? undefined : new URL(plan.publicUrl)
  return (outgoing: string[], { headers, socket }: IncomingMessage): void => {
    const said = (name: string): string | undefined => (trustsProxy ? headers[name]?.toString() : undefined)
    if (upstream.preserveHost && headers.host !== undefined && !('host' in upstream.headers))
      outgoing.push('host', headers.host)
    const before = said('x-forwarded-for')
    const peer = socket.remoteAddress ?? 'unknown'
    outgoing.push('x-forwarded-for', before === undefined ? peer : `${before}, ${peer}`)
    outgoing.push('x-forwarded-proto', publicUrl?.protocol.slice(0, -1) ?? said('x-forwarded-proto') ?? 'http')
    const host = publicUrl?.host ?? said('x-forwarded-host') ?? headers.host
    if (host !== undefined) outgoing.push('x-forwarded-host', host)
  }
}

/**
 * The same key for every delivery of one payment for one request, so that an upstream with idempotency does the work
 * once. A payment for several requests does not show which of them are repetitions. Then the client's own key counts,
 * hashed with its payment so that it cannot collide with the key of another client.
 */
function keyFor({ method, headers }: IncomingMessage, target: string, facts: PaymentFacts): string | undefined {
  const own = headers['idempotency-key']?.toString()
  if (!facts.isOnce && own === undefined) return undefined
  const parts = [facts.tx, method, target, ...(facts.isOnce ? [] : [own])]
  return createHash('sha256').update(parts.join('\n')).digest('base64url')
}
