/**
 * Sign-in with a wallet: `/sign-in/nonce` returns a message, `/sign-in` accepts its signature, `/sign-out` ends the
 * session. There are no accounts: every wallet can sign in, and other code decides which data it may read.
 */
import type { Limits } from '../../core/collections/limits.ts'
import { decodeAddress } from '../../core/encoding/base58.ts'
import { readClientAddress } from '../../core/http/client-address.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock, Log, Verifier } from '../../core/runtime.ts'
import type { Visitor } from '../http/access.ts'
import { createAttempts } from '../http/attempts.ts'
import { answer, problem } from '../http/errors.ts'
import { endpoints } from '../http/paths.ts'
import { readPosted } from '../http/posted.ts'
import { signInBodies } from './bodies.ts'
import { createSignInMessages, type Site } from './message.ts'
import { createSites, isPlainLoopback } from './origins.ts'
import { createSessions, isForeign, sessionCookie, usualSessionSeconds } from './session.ts'
import { isSignedBy, readBase64, readSignature } from './signed-text.ts'

export interface SignInParts {
  readonly limits: Limits
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly verifier: Verifier
  readonly log: Log
  readonly network: Network
  /** `keyring.serviceKey`. */
  readonly key: Uint8Array
  /** The public address of the service. Without it and without `origins`, sign-in works on this machine only. */
  readonly publicUrl?: string | undefined
  /** Further origins of the service. */
  readonly origins?: readonly string[] | undefined
  readonly isOwner: (wallet: string) => boolean
  readonly sessionSeconds?: number | undefined
  /** Number of the operator's proxies in front of the service. */
  readonly trustProxy?: number | undefined
}

export interface SignIn {
  /** For `/sign-in`, `/sign-in/nonce` and `/sign-out`. */
  handle(request: Request, visitor: Visitor): Promise<Response>
  /** A cookie counts only in a request from the service's own page. A bearer token always counts. */
  sessionOf(request: Request): Promise<{ readonly wallet: string } | undefined>
}

const noncePath = `${endpoints.signIn}/nonce`

export function createSignIn(parts: SignInParts): SignIn {
  const { clock, kv, key, isOwner, sessionSeconds = usualSessionSeconds } = parts
  const messages = createSignInMessages(key, parts.network)
  const sites = createSites(parts.publicUrl, parts.origins)
  const sessions = createSessions({ kv, clock, key, sessionSeconds, sites })
  const attempts = createAttempts(parts.limits, 'sign-in')

  const nonce = async (request: Request, site: Site): Promise<Response> => {
    const read = await readPosted(request, signInBodies.nonce)
    if (read instanceof Response) return read
    const { text, nonce, expiresAt } = messages.write(site, read.address, clock.now())
    return answer({ message: text, nonce, expiresAt: new Date(expiresAt).toISOString() })
  }

  const signIn = async (request: Request, site: Site): Promise<Response> => {
    const read = await readPosted(request, signInBodies.signIn)
    if (read instanceof Response) return read
    const { address, message } = read
    const [wallet, signature] = [decodeAddress(address), readSignature(read.signature)]
    const text = messages.read(message, site, address, clock.now())
    if (text.kind === 'wrong') return refuse(text.why)
    const signed = read.signedMessage ? readBase64(read.signedMessage) : undefined
    if (!wallet || !signature || !isSignedBy(parts.verifier, wallet, message, { signature, signed }))
      return refuse('the signature does not match the wallet and the message')
    // Only signed messages are recorded, so a flood of requests for messages leaves no data.
    if (!(await kv.put(`nonce:${text.nonce}`, '', text.expiresAt))) return refuse('the message has already been used')
    await sessions.end(request)
    const { token, expiresAt } = await sessions.begin(address)
    parts.log.info('session.started', { owner: isOwner(address) })
    return answer(
      { token, expiresAt: new Date(expiresAt).toISOString(), wallet: address, owner: isOwner(address) },
      { headers: { 'Set-Cookie': sessionCookie(token, sessionSeconds, !isPlainLoopback(site)) } },
    )
  }

  const whoAmI = async (request: Request): Promise<Response> => {
    const session = await sessions.of(request)
    if (!session) return answer({ signedIn: false })
    const { wallet, expiresAt } = session
    return answer({ signedIn: true, wallet, owner: isOwner(wallet), expiresAt: new Date(expiresAt).toISOString() })
  }

  const signOut = async (request: Request, site: Site): Promise<Response> => {
    const signedOut = await sessions.end(request)
    return answer({ signedOut }, { headers: { 'Set-Cookie': sessionCookie('', 0, !isPlainLoopback(site)) } })
  }

  return {
    sessionOf: sessions.of,
    handle: async (request, { peer }) => {
      const path = new URL(request.url).pathname
      if (path === endpoints.signIn && request.method === 'GET') return whoAmI(request)
      if (![endpoints.signIn, noncePath, endpoints.signOut].includes(path)) return problem('not_found')
      if (request.method !== 'POST')
        return problem('method_not_allowed', { headers: { Allow: path === endpoints.signIn ? 'GET, POST' : 'POST' } })
      const site = sites.of(request)
      if (!site) return problem('sign_in_unconfigured')
      if (isForeign(request, sites)) return problem('cross_site')
      if (path === noncePath) return nonce(request, site)
      if (path === endpoints.signOut) return signOut(request, site)
      const forwarded = request.headers.get('x-forwarded-for') ?? undefined
      const client = readClientAddress(peer, forwarded, parts.trustProxy ?? 0)
      return (await attempts.take(client)) ? signIn(request, site) : problem('sign_ins_limited')
    },
  }
}

function refuse(why: string): Response {
  return problem('sign_in_failed', { detail: `Sign-in failed: ${why}. Request a new message and sign it.` })
}
