/**
 * Under which addresses a service is known. A sign-in message names one of these, and a page of another is foreign.
 *
 * What `Host` says is not believed: whoever relays requests under a name of their own would have messages written for it,
 * and have them signed by people who think that they sign in there. Only at this machine it may stand for itself.
 */
import { isLocalName } from '../../core/encoding/http.ts'
import type { Site } from './message.ts'

export interface Sites {
  /** The one that a request came to; undefined when the service does not know any that it could be. */
  of(request: Request): Site | undefined
  /** Whether a page of this origin is the service's own. */
  isOwn(origin: string, request: Request): boolean
  /** The same where there is no request: one of those that were given, or else one of this machine. */
  knows(origin: string): boolean
}

export function createSites(publicUrl: string | undefined, origins: readonly string[] = []): Sites {
  const known = [...(publicUrl === undefined ? [] : [publicUrl]), ...origins].map((text): Site => {
    const { host, origin } = new URL(text)
    return { host, origin }
  })
  const of = (request: Request): Site | undefined => {
    const { host, protocol } = new URL(request.url)
    const name = (request.headers.get('host') ?? host).toLowerCase()
    // A proxy in front may ask under another name than the browser did.
    if (known.length > 0) return known.find((site) => site.host === name) ?? known[0]
    return isLocalName(name) ? { host: name, origin: `${protocol}//${name}` } : undefined
  }
  return {
    of,
    isOwn: (origin, request) =>
      known.length > 0 ? known.some((site) => site.origin === origin) : of(request)?.origin === origin,
    knows: (origin) =>
      known.length > 0
        ? known.some((site) => site.origin === origin)
        : URL.canParse(origin) && new URL(origin).origin === origin && isLocalName(new URL(origin).host),
  }
}

/** Plain http at this machine: the only place without TLS where a browser is let in by a cookie. */
export function isPlainLoopback({ host, origin }: Site): boolean {
  return origin.startsWith('http:') && isLocalName(host)
}
