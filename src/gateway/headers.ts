/**
 * Which headers go through a gateway, and which are its own affair.
 *
 * Three kinds never pass: those of one connection (RFC 9110, 7.6.1), ours, and those by which a client would act as
 * somebody else at the upstream.
 */
import type { PaymentFacts } from '../paywall/delivery/admitted.ts'

/** Of one connection, and so of nobody behind it. */
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
/** What clients may say to us, and what only we may say. */
const ours = /^(?:payment-(?:proof|accept|checkout|receipt|allowance|status)|x-payment-.*|x-paystile-.*)$/
/** By these a request becomes another one behind the gateway: another method, another path. */
const disguises = [
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-method',
  'x-original-uri',
  'x-original-url',
  'x-rewrite-url',
]
/** What proxies say of a client; a client may not say it itself. */
const proxied =
  /^(?:forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|x-cluster-client-ip)$/
/** Who somebody is at the upstream: what proves it, and what proxies that have asked for it say of users. */
const credentials = new RegExp(
  `^(?:${[
    ...['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token', 'x-access-token', 'x-amz-.*', 'x-goog-.*'],
    ...['(?:x-)?remote-(?:user|groups?|email|name)', 'x-webauth-.*', 'x-auth-request-.*', 'x-authenticated-.*'],
    ...['x-ms-client-principal.*', 'cf-access-.*', '(?:x-)?ssl-client-.*', '(?:x-)?client-cert.*'],
  ].join('|')})$`,
)
/** What HTTP itself has requests say: with a key of the provider's on board, a client may say no more than this. */
const ordinary = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'access-control-request-headers'],
  ...['access-control-request-method', 'cache-control', 'content-digest', 'content-disposition', 'content-encoding'],
  ...['content-language', 'content-length', 'content-md5', 'content-range', 'content-type', 'date', 'digest'],
  ...['dnt', 'idempotency-key', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  ...['last-event-id', 'origin', 'pragma', 'prefer', 'priority', 'range', 'referer', 'save-data', 'traceparent'],
  ...['tracestate', 'user-agent', 'want-content-digest', 'x-request-id'],
])

const neverForwarded = new Set([...hopByHop, ...disguises, 'expect', 'host', 'http2-settings'])

/** Whether a header is the gateway's own to write, or nobody's. */
export function isKeptHeader(name: string): boolean {
  const wanted = sameName(name)
  if (wanted === 'host') return false
  return neverForwarded.has(wanted) || ours.test(wanted) || wanted === 'content-length' || /^x-forwarded-/.test(wanted)
}

/** Upstreams that make variables of headers (CGI, WSGI, PHP) do not tell `X_Payment.Tx` from `X-Payment-Tx`. */
function sameName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '-')
}

export interface ForwardRules {
  /** What the upstream is told under these names, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly forward: readonly string[]
  /** Whether proxies in front may speak of the client. */
  readonly trustsProxy: boolean
  /** Whether the answer has to come as it is, because it is wrapped. */
  readonly isPlain: boolean
}

/** Decides about the headers of requests by their names. WebSockets bring their own, which are ordinary there. */
export function createFilter(rules: ForwardRules): (name: string) => boolean {
  const { forward, trustsProxy, isPlain } = rules
  const own = new Set(Object.keys(rules.headers).map(sameName))
  const asked = new Set(forward.map(sameName))
  const isWary = [...own].some((name) => name !== 'host' && name !== 'user-agent')
  return rememberNames((name) => {
    const wanted = sameName(name)
    if (neverForwarded.has(wanted) || ours.test(wanted) || own.has(wanted)) return false
    if (isPlain && wanted === 'accept-encoding') return false
    if (proxied.test(wanted)) return trustsProxy && !/^x-forwarded-(?:for|proto|host)$/.test(wanted)
    if (asked.has(wanted)) return true
    if (credentials.test(wanted)) return false
    return !isWary || ordinary.has(wanted) || wanted.startsWith('sec-websocket-')
  })
}

/** The same few names come again and again, each in the same case. `decide` gets them in lower case. */
export function rememberNames(decide: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const verdict = decide(name.toLowerCase())
    // Names are the clients', so they are kept only as long as they are few.
    if (known.size < 256 && name.length <= 64) known.set(name, verdict)
    return verdict
  }
}

/** Names and values in turn, as HTTP has them: text, or bytes where nobody has read them yet. */
export type RawHeaders = readonly (string | Buffer)[]

/** Of a message's headers those that pass. What `Connection` names is of the connection, too. */
export function passingHeaders(raw: RawHeaders, passes: (name: string) => boolean): string[] {
  const connection = connectionIn(raw)
  const named = connection === undefined ? undefined : namesIn(connection)
  const passing: string[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = textOf(raw[index])
    if (!passes(name) || named?.has(name.toLowerCase())) continue
    const value = withoutOwnCookies(name, textOf(raw[index + 1]))
    if (value !== undefined) passing.push(name, value)
  }
  return passing
}

/** A ticket is the proof of a payment and a session is its owner's: neither goes to an upstream or comes from one. */
const ownCookie = /^(?:__Host-)?paystile_/

/** The value of a header, less the cookies of this service; undefined where nothing else is in it. */
function withoutOwnCookies(name: string, value: string): string | undefined {
  if (name.length === 6 && name.toLowerCase() === 'cookie') {
    const others = value.split(';').filter((cookie) => !ownCookie.test(cookie.trim()))
    return others.length === 0 ? undefined : others.join(';').trim()
  }
  const isOwn = name.length === 10 && name.toLowerCase() === 'set-cookie' && ownCookie.test(value.trim())
  return isOwn ? undefined : value
}

function textOf(part: string | Buffer | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '')
}

/** What all `Connection` headers say, as one. */
function connectionIn(raw: RawHeaders): string | undefined {
  let found: string | undefined
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.length !== 10 || textOf(raw[index]).toLowerCase() !== 'connection') continue
    const value = textOf(raw[index + 1])
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/** A `Connection` that only says how long it lasts, as nearly all do, names nothing. */
function namesIn(connection: string): ReadonlySet<string> | undefined {
  if (/^(?:keep-alive|close)$/i.test(connection)) return undefined
  const names = connection.split(',').map((name) => name.trim().toLowerCase())
  // Without a length a body would have no end: that is not a client's to take away.
  return new Set(names.filter((name) => name !== 'content-length' && name !== 'content-type'))
}

/** Nobody but us says what was paid; `Alt-Svc` would lead clients past the gateway. */
const keptFromClients = new Set([...hopByHop, 'alt-svc', 'x-accel-redirect', 'x-sendfile'])

export const passesToClient = rememberNames((name) => !keptFromClients.has(name) && !ours.test(name))

/** What an upstream is told of the payment behind a request. */
export function factHeaders(facts: PaymentFacts): readonly string[] {
  return [
    ...['X-Payment-Tx', facts.tx, 'X-Payment-Request', facts.request, 'X-Payment-Payer', facts.payer],
    ...['X-Payment-Token', facts.token, 'X-Payment-Amount', facts.amount],
  ]
}
