/**
 * Who is signed in: by a cookie in browsers, by a bearer token in programs. Sessions are on the shelf, so that all servers
 * know them and the end of one is its end everywhere.
 */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock } from '../../core/runtime.ts'
import { createBearers } from './bearer.ts'
import type { Sites } from './origins.ts'
import { isPlainLoopback } from './origins.ts'

export interface Session {
  readonly wallet: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface Sessions {
  begin(wallet: string): Promise<Session & { readonly token: string }>
  /** By the request's bearer token or cookie. A cookie that another site made a browser send does not count. */
  of(request: Request): Promise<Session | undefined>
  /** False when there was none. */
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
/** With this prefix browsers take the cookie from this very host only, and not from a neighbour under the same domain. */
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
 * SameSite=Strict: no page of the service is reached by a link from elsewhere that would need it, and so no other site can
 * make a browser send it at all. `Secure` is left out on http at this machine only, where there is no TLS to ask for.
 */
export function sessionCookie(token: string, maxAgeSeconds: number, isSecure: boolean): string {
  const name = isSecure ? secureName : cookieName
  return `${name}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/** Whether a browser says that another site's page made it send this. Programs say nothing, and are believed. */
export function isForeign(request: Request, sites: Sites): boolean {
  const [site, origin] = [request.headers.get('sec-fetch-site'), request.headers.get('origin')]
  if (site !== null && site !== 'same-origin' && site !== 'none') return true
  return origin !== null && !sites.isOwn(origin, request)
}

/** Where a cookie counts. What changes something must come with a browser's word that our own page sent it. */
function isOwnPage(request: Request, sites: Sites): boolean {
  if (isForeign(request, sites)) return false
  if (request.method === 'GET' || request.method === 'HEAD') return true
  return request.headers.has('sec-fetch-site') || request.headers.has('origin')
}

function readBearer(request: Request): string | undefined {
  return /^Bearer +([\w-]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

/** Only by the name that it has here: where there is TLS, the one without the prefix may come from a neighbour. */
function readCookie(request: Request, sites: Sites): string | undefined {
  const site = sites.of(request)
  const name = site && isPlainLoopback(site) ? cookieName : secureName
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([one]) => one === name)?.[1]
}
