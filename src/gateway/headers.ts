/**
 * Decides which headers a gateway forwards.
 *
 * Three kinds are never forwarded: headers of one connection (RFC 9110, 7.6.1), headers of paystile, and headers with
 * which a client could impersonate another user at the upstream.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { foldName } from '../core/http/repeated-names.ts'
import type { PaymentFacts } from '../paywall/delivery/receipt.ts'

/** Headers of one connection. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Headers of paystile and of the other payment protocols, from clients and to clients. */
const ours = /^(?:payment-.*|accept-payment|x-payment(?:-.*)?|x-paystile-.*)$/
/** Headers that turn a request into another one behind the gateway: another method, another path. */
const disguises = [
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-method',
  'x-original-uri',
  'x-original-url',
  'x-rewrite-url',
]
/** Headers in which proxies describe a client. A client may not set them itself. */
const proxied =
  /^(?:forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|x-cluster-client-ip)$/
/** Credentials at the upstream, and headers in which authenticating proxies describe users. */
const credentials = new RegExp(
  `^(?:${[
    ...['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token', 'x-access-token', 'x-amz-.*', 'x-goog-.*'],
    ...['(?:x-)?remote-(?:user|groups?|email|name)', 'x-webauth-.*', 'x-auth-request-.*', 'x-authenticated-.*'],
    ...['x-ms-client-principal.*', 'cf-access-.*', '(?:x-)?ssl-client-.*', '(?:x-)?client-cert.*'],
  ].join('|')})$`,
)
/** Ordinary HTTP request headers. A request that carries the provider's key forwards only these from the client. */
const ordinary = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'access-control-request-headers'],
  ...['access-control-request-method', 'cache-control', 'content-digest', 'content-disposition', 'content-encoding'],
  ...['content-language', 'content-length', 'content-md5', 'content-range', 'content-type', 'date', 'digest'],
  ...['dnt', 'idempotency-key', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  ...['last-event-id', 'origin', 'pragma', 'prefer', 'priority', 'range', 'referer', 'save-data', 'traceparent'],
  ...['tracestate', 'user-agent', 'want-content-digest', 'x-request-id'],
])

const neverForwarded = new Set([...hopByHop, ...disguises, 'expect', 'host', 'http2-settings'])

/** Whether only the gateway may set this header, or no one. */
export function isKeptHeader(name: string): boolean {
  const wanted = foldName(name)
  if (wanted === 'host') return false
  return neverForwarded.has(wanted) || ours.test(wanted) || wanted === 'content-length' || /^x-forwarded-/.test(wanted)
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export interface ForwardRules {
  /** Headers that the gateway sets, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly forward: readonly string[]
  /** Whether proxies in front are trusted to describe the client. */
  readonly trustsProxy: boolean
  /** Whether the response must be uncompressed, because the gateway wraps it. */
  readonly isPlain: boolean
}

/** Creates the filter for request headers by name. WebSocket headers are ordinary in a handshake. */
export function createFilter(rules: ForwardRules): (name: string) => boolean {
  const { forward, trustsProxy, isPlain } = rules
  const own = new Set(Object.keys(rules.headers).map(foldName))
  const asked = new Set(forward.map(foldName))
  const isWary = [...own].some((name) => name !== 'host' && name !== 'user-agent')
  return rememberNames((name) => {
    const wanted = foldName(name)
    if (neverForwarded.has(wanted) || ours.test(wanted) || own.has(wanted)) return false
    if (isPlain && wanted === 'accept-encoding') return false
    if (proxied.test(wanted)) return trustsProxy && !/^x-forwarded-(?:for|proto|host)$/.test(wanted)
    if (asked.has(wanted)) return true
    if (credentials.test(wanted)) return false
    return !isWary || ordinary.has(wanted) || wanted.startsWith('sec-websocket-')
  })
}

/** Caches decisions, because the same few names recur, each in the same case. `decide` gets them in lower case. */
export function rememberNames(decide: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const verdict = decide(name.toLowerCase())
    // Clients choose the names, so the cache is limited.
    if (known.size < 256 && name.length <= 64) known.set(name, verdict)
    return verdict
  }
}

/** Names and values in turn: text, or bytes that are not decoded yet. */
export type RawHeaders = readonly (string | Buffer)[]

/** The headers of a message that are forwarded. Headers named in `Connection` belong to the connection, too. */
export function passingHeaders(raw: RawHeaders, passes: (name: string) => boolean): string[] {
  const connection = connectionIn(raw)
  const named = connection === undefined ? undefined : namesIn(connection)
  const passing: string[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = textOf(raw[index])
    if (!passes(name) || named?.has(name.toLowerCase())) continue
    const value = withoutOwnParts(name, textOf(raw[index + 1]))
    if (value !== undefined) passing.push(name, value)
  }
  return passing
}

/**
 * A ticket proves a payment and a session identifies its owner. Neither is forwarded to an upstream or accepted from
 * one.
 */
const ownCookie = /^(?:__Host-)?paystile_/

/** The value of a header without the cookies and payments of this service; undefined if nothing remains. */
function withoutOwnParts(name: string, value: string): string | undefined {
  if (name.length === 6 && name.toLowerCase() === 'cookie') {
    const others = value.split(';').filter((cookie) => !ownCookie.test(cookie.trim()))
    return others.length === 0 ? undefined : others.join(';').trim()
  }
  // MPP puts payments there. Other schemes are credentials at the upstream.
  if (name.length === 13 && name.toLowerCase() === 'authorization')
    return /^\s*payment\s/i.test(value) ? undefined : value
  const isOwn = name.length === 10 && name.toLowerCase() === 'set-cookie' && ownCookie.test(value.trim())
  return isOwn ? undefined : value
}

function textOf(part: string | Buffer | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '')
}

/** The values of all `Connection` headers, joined. */
function connectionIn(raw: RawHeaders): string | undefined {
  let found: string | undefined
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.length !== 10 || textOf(raw[index]).toLowerCase() !== 'connection') continue
    const value = textOf(raw[index + 1])
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/** A plain `keep-alive` or `close`, as in nearly all requests, names no header. */
function namesIn(connection: string): ReadonlySet<string> | undefined {
  if (/^(?:keep-alive|close)$/i.test(connection)) return undefined
  const names = connection.split(',').map((name) => name.trim().toLowerCase())
  // Without its length a body would have no end, so a client cannot remove it.
  return new Set(names.filter((name) => name !== 'content-length' && name !== 'content-type'))
}

/** Only the gateway reports payments. `Alt-Svc` would direct clients past the gateway. */
const keptFromClients = new Set([...hopByHop, 'alt-svc', 'x-accel-redirect', 'x-sendfile'])

export const passesToClient = rememberNames((name) => !keptFromClients.has(name) && !ours.test(name))

/** The headers that describe the payment of a request to the upstream. */
export function factHeaders(facts: PaymentFacts): readonly string[] {
  return [
    ...['X-Payment-Tx', facts.tx, 'X-Payment-Request', facts.request, 'X-Payment-Payer', facts.payer],
    ...['X-Payment-Token', facts.token, 'X-Payment-Amount', facts.amount],
  ]
}
