/**
 * Sessions: a cookie in browsers, a bearer token in programs. The key-value store holds them, so all servers know a
 * session and its end.
 */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { createBearers } from './bearer.ts'
import { isPlainLoopback, type Sites } from './origins.ts'

export interface Session {
  readonly wallet: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface Sessions {
  begin(wallet: string): Promise<Session & { readonly token: string }>
  /** Reads the bearer token or the cookie. A cookie in a request that another site caused is ignored. */
  of(request: Request): Promise<Session | undefined>
  /** Returns false if there was no session. */
  end(request: Request): Promise<boolean>
}

export interface SessionParts {
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly key: Uint8Array
  readonly sessionSeconds: number
  readonly sites: Sites
}

export const usualSessionSeconds = 12 * 3_600
const prefix = 'session:'
const cookieName = 'paystile_session'
/** Browsers accept a cookie with this prefix from this exact host only, not from another host of the same domain. */
const secureName = `__Host-${cookieName}`

export function createSessions({ kv, clock, key, sessionSeconds, sites }: SessionParts): Sessions {
  const bearers = createBearers(key, 'session')
  const readSessionName = (request: Request): string | undefined => {
    const token = readBearer(request) ?? (isOwnPage(request, sites) ? readCookie(request, sites) : undefined)
    return token === undefined ? undefined : bearers.nameOf(token)
  }
  return {
    begin: async (wallet) => {
      const { token, name } = bearers.make()
      const expiresAt = clock.now() + sessionSeconds * 1000
      await kv.put(`${prefix}${name}`, JSON.stringify({ wallet, expiresAt }), expiresAt)
      return { wallet, expiresAt, token }
    },
    of: async (request) => {
      const name = readSessionName(request)
      const kept = name === undefined ? undefined : await kv.get(`${prefix}${name}`)
      return kept === undefined ? undefined : (JSON.parse(kept) as Session)
    },
    end: async (request) => {
      const name = readSessionName(request)
      return name !== undefined && (await kv.remove(`${prefix}${name}`))
    },
  }
}

/**
 * With SameSite=Strict no other site can make a browser send the cookie. No link from another site leads to a page that
 * needs it. `Secure` is omitted only for plain HTTP on this machine, which has no TLS.
 */
export function sessionCookie(token: string, maxAgeSeconds: number, isSecure: boolean): string {
  const name = isSecure ? secureName : cookieName
  return `${name}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/**
 * Whether the browser reports that a page of another site caused the request. Programs send neither header and pass.
 */
export function isForeign(request: Request, sites: Sites): boolean {
  const [site, origin] = [request.headers.get('sec-fetch-site'), request.headers.get('origin')]
  if (site !== null && site !== 'same-origin' && site !== 'none') return true
  return origin !== null && !sites.isOwn(origin, request)
}

/** Whether a cookie in this request counts. A request that changes state needs a header that shows its origin. */
function isOwnPage(request: Request, sites: Sites): boolean {
  if (isForeign(request, sites)) return false
  if (request.method === 'GET' || request.method === 'HEAD') return true
  return request.headers.has('sec-fetch-site') || request.headers.has('origin')
}

function readBearer(request: Request): string | undefined {
  return /^Bearer +([\w-]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

/** Reads only the name for this site: with TLS, another host of the domain can set the cookie without the prefix. */
function readCookie(request: Request, sites: Sites): string | undefined {
  const site = sites.of(request)
  const name = site && isPlainLoopback(site) ? cookieName : secureName
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([one]) => one === name)?.[1]
}
