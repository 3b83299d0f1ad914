/**
 * The origins of a service. A sign-in message names one of them; a page of any other origin is foreign.
 *
 * The header `Host` is not trusted. A relay under another name could otherwise obtain sign-in messages for its own name
 * and have users sign them. Only a loopback name is taken from `Host`.
 */
import { parseUrl } from '../../core/encoding/url.ts'
import { isLocalName } from '../../core/http/http.ts'
import type { Site } from './message.ts'

export function createSites(publicUrl: string | undefined, origins: readonly string[] = []) {
  const known = [...(publicUrl === undefined ? [] : [publicUrl]), ...origins].map((text): Site => {
    const { host, origin } = new URL(text)
    return { host, origin }
  })
  const of = (request: Request): Site | undefined => {
    const { host, protocol } = new URL(request.url)
    const name = (request.headers.get('host') ?? host).toLowerCase()
    // A proxy in front of the service may use another name than the browser.
    if (known.length > 0) return known.find((site) => site.host === name) ?? known[0]
    return isLocalName(name) ? { host: name, origin: `${protocol}//${name}` } : undefined
  }
  return {
    /** The origin that a request was sent to; undefined if none is configured and the host is not this machine. */
    of,
    /** Whether a page of this origin belongs to the service. */
    isOwn: (origin: string, request: Request) =>
      known.length > 0 ? known.some((site) => site.origin === origin) : of(request)?.origin === origin,
    /** The same without a request: a configured origin or, if none is configured, one of this machine. */
    knows: (origin: string) =>
      known.length > 0 ? known.some((site) => site.origin === origin) : isLocalOrigin(origin),
  }
}

function isLocalOrigin(text: string): boolean {
  const url = parseUrl(text)
  return url?.origin === text && isLocalName(url.host)
}

export type Sites = ReturnType<typeof createSites>

/** Plain HTTP on this machine: the only place without TLS where a cookie signs a browser in. */
export function isPlainLoopback({ host, origin }: Site): boolean {
  return origin.startsWith('http:') && isLocalName(host)
}
