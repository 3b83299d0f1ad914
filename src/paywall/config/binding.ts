/**
 * Binds a payment to parts of the request, as the provider configures. The requestId contains only a keyed tag of these
 * parts. A price can depend on them only, so the payment for a cheap request is not valid for an expensive one.
 */
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import type { NamedEndpoint } from '../../core/http/endpoint.ts'
import { type Form, isForm, readForm } from '../../core/http/form.ts'
import type { Incoming } from '../../core/http/http.ts'
import { decodePath } from '../../core/http/plain-path.ts'
import { isHeaderRepeated, isRepeated, readNames } from '../../core/http/repeated-names.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'

/** `request`: method, path and query as received. `path`: without the query. Otherwise the listed parts. */
export type Bind = 'request' | 'path' | BoundParts

export interface BoundParts {
  /** The bound query parameters; if omitted, the whole query as received. */
  readonly query?: readonly string[]
  /** The bound headers, in lower case. */
  readonly headers?: readonly string[]
  /** Whether the body is bound. */
  readonly body?: boolean
}

/** The parts of a request that a price or a size can depend on. */
export interface PricedRequest {
  readonly method: string
  /** Decoded. A path that programs read in different ways is an error. Letters can differ in case. */
  readonly path: string
  /** A bound query parameter, the first of that name. Reading another one is an error, as for headers. */
  query(name: string): string | undefined
  /** A bound header. Reading another one is an error, because a payer could change it freely. */
  header(name: string): string | undefined
  /** The length of the body if it is bound; 0 without a body. */
  readonly bodyBytes: number
}

/** The body of a request: its SHA-256 as base64url, its length, and the form that programs may read from it. */
export interface BodyFacts {
  readonly digest: string
  readonly length: number
  readonly form: Form
}

const noForm: Form = { names: [] }
const noBody: BodyFacts = { digest: '', length: 0, form: noForm }

/** Headers that a browser sets by itself, with other values when it opens the same address again. */
const changedByBrowsers = /^(?:cache-control|cookie|origin|pragma|referer|sec-.*)$/

/**
 * Reports bound headers that browsers change: a person would pay on the checkout page and could not open the purchase.
 */
export function checkBind(bind: Bind, hasCheckout: boolean, problems: string[]): void {
  if (!hasCheckout || typeof bind !== 'object') return
  for (const name of bind.headers ?? [])
    if (changedByBrowsers.test(name))
      problems.push(
        `bind.headers: browsers change ${name} between the checkout page and the purchase; set checkout: false`,
      )
}

export function bindsBody(bind: Bind): boolean {
  return typeof bind === 'object' && bind.body === true
}

/** The text of a binding tag, after the method and the path. Each kind of binding has its own suffix. */
export function boundText(bind: Bind, incoming: Incoming, body: BodyFacts = noBody): string {
  const { target } = incoming
  if (bind === 'request') return target
  const [path, search] = split(target)
  if (bind === 'path') return `${path}\n*`
  const parts = {
    query: bind.query ? chosen(new URLSearchParams(search), bind.query) : search,
    headers: (bind.headers ?? []).map((name) => incoming.header(name) ?? null),
    ...(bind.body && { body: { digest: body.digest, length: body.length } }),
  }
  return `${path}\n?${JSON.stringify(parts)}`
}

/** A request as a price function sees it, and the first name that it contains more than once. */
export interface Priced {
  readonly request: PricedRequest
  /** Covers the bound names, and the names that the function has read so far. */
  repeated(): Refusal | undefined
}

/** `endpoint` decides whether paths end with a slash. */
export function pricedRequest(
  bind: Bind,
  incoming: Incoming,
  body: BodyFacts = noBody,
  endpoint?: NamedEndpoint,
): Priced {
  const [path, search] = split(incoming.target)
  const decoded = decodePath(path, endpoint !== undefined && /.\/$/.test(endpoint.path))
  const listed = partsOf(bind)
  const parameters = new URLSearchParams(search)
  const sent = readNames(search.slice(1))
  let repeated: Refusal | undefined
  // Recorded in addition to the error: a function that catches it must not lead to a price.
  const check = (what: string, isWrong: boolean, action = 'Send it once, under that exact name.'): void => {
    if (!isWrong) return
    repeated ??= refuse('parameter_repeated', { detail: `The price depends on ${what}. ${action}` })
    throw new TypeError(`${what} appears more than once`)
  }
  const query = (name: string): string | undefined => {
    const { names, unclear } = body.form
    check(`the parameter ${name}`, isRepeated(name, sent, names))
    check(`the parameter ${name}`, unclear !== undefined, `Programs read this form in different ways: ${unclear}.`)
    return parameters.get(name) ?? undefined
  }
  const header = (name: string): string | undefined => {
    check(`the header ${name}`, isHeaderRepeated(name, incoming))
    return incoming.header(name)
  }
  const request = {
    method: incoming.method,
    get path() {
      check('the path', decoded === undefined, usualPath)
      return decoded ?? ''
    },
    query: refusingMembers((name: string) => {
      if (listed.query && !listed.query.includes(name)) throw unbound(`the parameter ${name}`, `query: ['${name}']`)
      return query(name)
    }),
    header: (name: string) => {
      const wanted = name.toLowerCase()
      if (listed.headers?.includes(wanted)) return header(wanted)
      throw unbound(`the header ${wanted}`, `headers: ['${wanted}']`)
    },
  }
  try {
    listed.query?.forEach(query)
    listed.headers?.forEach(header)
  } catch {
    // `repeated` reports it.
  }
  // Not enumerable, so that printing the request while debugging does not read it.
  const complete = Object.defineProperty(request as typeof request & { bodyBytes: number }, 'bodyBytes', {
    get: () => {
      if (listed.body) return body.length
      throw unbound('the body', 'body: true')
    },
  })
  return { request: complete, repeated: () => repeated }
}

const usualPath =
  'Send it in its usual form: without a final slash, empty and dot segments, and escapes that it does not need.'

function partsOf(bind: Bind): BoundParts {
  return bind === 'path' ? { query: [] } : bind === 'request' ? {} : bind
}

/** Whether a form could contain a parameter that a price function may read. */
export function mayReadForm(bind: Bind, incoming: Incoming): boolean {
  return partsOf(bind).query?.length !== 0 && isForm(incoming)
}

function unbound(what: string, bind: string): TypeError {
  return new TypeError(`a price may depend on ${what} only if the payment is bound to it: bind: { ${bind} }`)
}

/** `query.size` would be undefined, and every price the price of a missing value. It throws instead. */
function refusingMembers<Call extends (name: string) => unknown>(call: Call): Call {
  return new Proxy(call, {
    get: (_call, member) => {
      if (typeof member === 'symbol' || member === 'toJSON') return undefined
      throw new TypeError(`query is a function: write query('${member}')`)
    },
  })
}

const longestDigest = 512

export interface BodyOptions {
  readonly mostBytes: number
  readonly rawBody: ((request: object) => unknown) | undefined
  /** Whether the fields of a form count. */
  readonly isForm: boolean
  /** Whether the body itself is bound. */
  readonly isBound: boolean
}

/**
 * The digest of the body. A client can announce it as `Content-Digest` (RFC 9530), so that an unpaid body need not be
 * read. A paid body and a form are always read.
 */
export async function readBodyFacts(
  incoming: Incoming,
  isPaid: boolean,
  options: BodyOptions,
): Promise<BodyFacts | Refusal> {
  const announced = isPaid || options.isForm ? undefined : announcedFacts(incoming)
  // A quote must not be paid for a body that would then be refused.
  if (announced) return announced.length > options.mostBytes ? refuse('body_too_long') : announced
  const given = options.rawBody?.(incoming.request)
  const reading =
    given instanceof Uint8Array
      ? ({ kind: 'body', bytes: given } as const)
      : options.rawBody
        ? ({ kind: 'gone' } as const)
        : await incoming.body(options.mostBytes)
  // Frameworks that have parsed a form keep its fields separate from the query.
  if (reading.kind === 'gone' && !options.isBound) return noBody
  if (reading.kind === 'gone') throw new TypeError(bodyGone)
  if (reading.kind === 'broken') return refuse('body_incomplete')
  if (reading.kind === 'too_long' || reading.bytes.length > options.mostBytes) return refuse('body_too_long')
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(reading.bytes))
  const form = options.isForm ? readForm(incoming, reading.bytes) : noForm
  return { digest: encodeBase64url(new Uint8Array(digest)), length: reading.bytes.length, form }
}

const bodyGone =
  'the body was read before the paywall; mount the paywall before the body parser, or set rawBody: (request) => bytes'

function announcedFacts(incoming: Incoming): BodyFacts | undefined {
  const header = incoming.header('content-digest')
  const length = incoming.header('content-length')
  if (header === undefined || header.length > longestDigest || !/^\d{1,15}$/.test(length ?? '')) return undefined
  const digest = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43})=:\s*(?:,|$)/.exec(header)?.[1]
  if (digest === undefined) return undefined
  return { digest: digest.replaceAll('+', '-').replaceAll('/', '_'), length: Number(length), form: noForm }
}

function chosen(all: URLSearchParams, names: readonly string[]): readonly (readonly [string, string])[] {
  return names.flatMap((name) => all.getAll(name).map((value) => [name, value] as const))
}

function split(target: string): readonly [path: string, search: string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
}
