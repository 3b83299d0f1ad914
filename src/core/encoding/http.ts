/** A request and an answer as the paywall sees them: the few facts that every framework can give. */
export interface Incoming {
  /** The framework's own object, by which a request is known when it comes by again. */
  readonly request: object
  readonly method: string
  /** Path and query exactly as received. */
  readonly target: string
  /** A header by its lower-case name; several of one name arrive joined by commas. */
  header(name: string): string | undefined
  /** Names and values in turn, one pair per line as received. Runtimes that join lines of one name give the joined ones. */
  rawHeaders(): readonly string[]
  /** Scheme and host that the client used, as far as the server can tell. */
  origin(): string
  /** The address at the other end of the connection, where it is known. */
  peer(): string | undefined
  /** The body as it was received, which the handler can read all the same. Longer ones are not read to their end. */
  body(mostBytes: number): Promise<BodyReading>
}

export type BodyReading =
  | { readonly kind: 'body'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_long' }
  /** Somebody has read it already. */
  | { readonly kind: 'gone' }
  /** The client left before its end. */
  | { readonly kind: 'broken' }

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  /** `Content-Length` among them, where there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Further `Set-Cookie` headers. */
  readonly cookies?: readonly string[]
  /** ASCII: as many bytes as characters, and cheaper to send than text that may be anything. */
  readonly body: string
}

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** Whether a host, as in `Host`, is this machine's own. */
export function isLocalName(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.test(host)
}

/** JSON in ASCII: every other character as its escape. */
export function asciiJson(value: unknown): string {
  // Most addresses need no escape at all, and this is on the path of every 402.
  if (typeof value === 'string' && /^[ !#-[\]-~]*$/.test(value)) return `"${value}"`
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Headers by which a handler speaks to shared caches over the head of `Cache-Control` (RFC 9213 and its forerunners).
 * On a paid answer they would give away what was sold.
 */
export const cacheDirective =
  /^(?:surrogate-control|edge-control|x-accel-expires|x-litespeed-cache-control|(?:[\w-]+-)?cdn-cache-control)$/i
