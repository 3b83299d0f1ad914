/** A request and a response as the paywall sees them: the few facts that every framework provides. */
import { parseUrl } from '../encoding/url.ts'
export interface Incoming {
  /** The framework's own object. It identifies a request that passes the paywall again. */
  readonly request: object
  readonly method: string
  /** Path and query exactly as received. */
  readonly target: string
  /** A header by its lower-case name. Repeated headers are joined by commas. */
  header(name: string): string | undefined
  /**
   * Alternating names and values, one pair per received line. Runtimes that join repeated headers return the joined
   * value.
   */
  rawHeaders(): readonly string[]
  /** Scheme and host that the client used, as far as the server knows. */
  origin(): string
  /** The remote address of the connection, if it is known. */
  peer(): string | undefined
  /** The received body. The handler can still read it. A body over the limit is not read to its end. */
  body(mostBytes: number): Promise<BodyReading>
}

export type BodyReading =
  | { readonly kind: 'body'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_long' }
  /** Other code has read the body already. */
  | { readonly kind: 'gone' }
  /** The client disconnected before the end. */
  | { readonly kind: 'broken' }

/** Headers as pairs of name and value. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** Includes `Content-Length` if there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Headers of this answer alone. `headers` is shared by many answers, and copying it costs more than these. */
  readonly varying?: HeaderPairs
  /** `varying` as lines of an HTTP/1 head, if they were written before the request came. */
  readonly varyingLines?: string | undefined
  /** Additional `Set-Cookie` headers. */
  readonly cookies?: readonly string[]
  /** ASCII, so the length in bytes equals the length in characters, and sending is cheaper than for arbitrary text. */
  readonly body: string
  /** The compressed body, which is sent in its place. */
  readonly bytes?: Uint8Array
}

/** Writes headers as lines of an HTTP/1 head. Undefined if a value has characters other than printable ASCII. */
export function formatHeaderLines(pairs: HeaderPairs): string | undefined {
  if (pairs.some(([, value]) => !/^[ -~]*$/.test(value))) return undefined
  return pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

/** The media type of every page for people. */
export const pageType = 'text/html; charset=utf-8'

/** Whether a media type is JSON: `application/json`, `application/geo+json`. */
export function isJsonType(type: string | undefined): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type ?? '')
}

export function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(parseUrl(text)?.protocol ?? '')
}

/** Whether a host from the `Host` header names the local machine. */
export function isLocalName(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.test(host)
}

/** Writes JSON in ASCII. All other characters are escaped. */
export function asciiJson(value: unknown): string {
  // Most addresses need no escapes, and this code runs for every 402.
  if (typeof value === 'string' && /^[ !#-[\]-~]*$/.test(value)) return `"${value}"`
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Headers with which a handler instructs shared caches in place of `Cache-Control` (RFC 9213 and its predecessors). On
 * a paid response they would let a cache give away the purchased content.
 */
export const cacheDirective =
  /^(?:surrogate-control|edge-control|x-accel-expires|x-litespeed-cache-control|(?:[\w-]+-)?cdn-cache-control)$/i
