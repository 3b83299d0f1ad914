/** A request and an answer as the paywall sees them: the few facts that every framework can give. */
export interface Incoming {
  readonly method: string
  /** Path and query exactly as received. */
  readonly target: string
  /** A header by its lower-case name; several of one name arrive joined by commas. */
  header(name: string): string | undefined
  /** Scheme and host that the client used, as far as the server can tell. */
  origin(): string
}

export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Headers by which a handler speaks to shared caches over the head of `Cache-Control` (RFC 9213 and its forerunners).
 * On a paid answer they would give away what was sold.
 */
export const cacheDirective = /^(?:surrogate-control|x-accel-expires|(?:[\w-]+-)?cdn-cache-control)$/i
