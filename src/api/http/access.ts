/**
 * Decides who may read the revenue of a service: its owners, signed in with their wallets. On a test network a person
 * at the machine needs no sign-in. A request through a proxy, or for a name that resolves to this machine, does not
 * count as one.
 */
import { isLocalName } from '../../core/http/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { problem } from './errors.ts'
import { endpoints } from './paths.ts'

/** The other end of the connection, as the server reports it. The request cannot influence it. */
export interface Visitor {
  readonly peer?: string | undefined
  /** The server listens on loopback only, and the connection comes from loopback. */
  readonly isLoopback: boolean
}

export type Access =
  | { readonly kind: 'owner'; readonly wallet: string }
  /** Not signed in, but on the machine itself. */
  | { readonly kind: 'open' }
  /** `wallet` is set for a signed-in wallet that is not an owner, such as a payer. */
  | { readonly kind: 'stranger'; readonly wallet: string | undefined }

export interface AccessParts {
  readonly network: Network
  /** Wallets with read access. Called for each request, because routes change. */
  readonly owners: () => readonly string[]
  readonly sessionOf: ((request: Request) => Promise<{ readonly wallet: string } | undefined>) | undefined
  /**
   * The public address of the service. If it is not this machine, a proxy forwards requests, with or without headers.
   */
  readonly publicUrl?: string | undefined
}

export type Admit = (request: Request, visitor: Visitor) => Promise<Access>

export function createAccess({ network, owners, sessionOf, publicUrl }: AccessParts): Admit {
  const isPrivate = publicUrl === undefined || isLocalName(new URL(publicUrl).host)
  const mayBeOpen = network !== 'mainnet' && isPrivate
  return async (request, visitor) => {
    const wallet = (await sessionOf?.(request))?.wallet
    if (wallet !== undefined && owners().includes(wallet)) return { kind: 'owner', wallet }
    if (mayBeOpen && isLocalVisit(request, visitor)) return { kind: 'open' }
    return { kind: 'stranger', wallet }
  }
}

export function mayRead({ kind }: Access): boolean {
  return kind !== 'stranger'
}

/** The response states how to sign in. */
export function turnAway(access: Access): Response {
  if (access.kind === 'stranger' && access.wallet !== undefined)
    return problem('not_owner', {
      detail: `${access.wallet} is signed in. Sign in with a recipient's wallet, or add this wallet to the option owners.`,
    })
  return problem('sign_in_required', {
    detail: `POST ${endpoints.signIn}/nonce with { "address": "<wallet>" }, sign the message, POST it to ${endpoints.signIn}.`,
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}

/**
 * Headers that proxies add. A proxy that adds none must be recognizable by the server's address: then the server must
 * not listen on loopback.
 */
const forwarding =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-original-host|(?:true|fly|fastly|x|x-cluster)-client-ip|cf-.*|x-envoy-.*)$/i

/** Whether a person or a program on this machine made the request. */
export function isLocalVisit(request: Request, visitor: Visitor): boolean {
  if (!visitor.isLoopback) return false
  if (!isLocalName(request.headers.get('host') ?? '')) return false
  const origin = request.headers.get('origin')
  if (origin !== null && !isLocalName(origin.replace(/^https?:\/\//, ''))) return false
  if (request.headers.get('sec-fetch-site') === 'cross-site') return false
  return ![...request.headers.keys()].some((name) => forwarding.test(name))
}
