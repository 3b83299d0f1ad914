/**
 * Who may read what a service earns: its owners, signed in with their wallet. On a test network a person who sits at the
 * machine needs no sign-in, and nobody else passes for one: not through a proxy, nor by a name that points here.
 */
import { isLocalName } from '../../core/encoding/http.ts'
import type { Network } from '../../core/money/tokens.ts'
import { problem } from './errors.ts'
import { endpoints } from './paths.ts'

/** Who is at the other end of the connection, as the server knows and not as the request says. */
export interface Visitor {
  readonly peer?: string | undefined
  /** The server listens on loopback only, and the connection comes from there. */
  readonly isLoopback: boolean
}

export type Access =
  | { readonly kind: 'owner'; readonly wallet: string }
  /** Not signed in, but at the machine itself. */
  | { readonly kind: 'open' }
  /** `wallet` where somebody signed in who is no owner: a payer, for one. */
  | { readonly kind: 'stranger'; readonly wallet: string | undefined }

export interface AccessParts {
  readonly network: Network
  /** The wallets that may read. Asked every time: routes come and go. */
  readonly owners: () => readonly string[]
  readonly sessionOf: ((request: Request) => Promise<{ readonly wallet: string } | undefined>) | undefined
  /** Where the service is reached from outside. If that is elsewhere, something passes requests on, said or unsaid. */
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

/** Who is not let in is told how to come in. */
export function turnAway(access: Access): Response {
  if (access.kind === 'stranger' && access.wallet !== undefined)
    return problem('not_owner', {
      detail: `${access.wallet} is signed in; sign in with a recipient's wallet, or name this one in the option owners.`,
    })
  return problem('sign_in_required', {
    detail: `POST ${endpoints.signIn}/nonce with { "address": "<wallet>" }, sign the message, POST it to ${endpoints.signIn}.`,
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}

/** What a proxy adds. One that adds nothing has to be told by the server's address: it must not listen on loopback. */
const forwarding =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-original-host|(?:true|fly|fastly|x|x-cluster)-client-ip|cf-.*|x-envoy-.*)$/i

/** A person at this machine, or a program of theirs. */
export function isLocalVisit(request: Request, visitor: Visitor): boolean {
  if (!visitor.isLoopback) return false
  if (!isLocalName(request.headers.get('host') ?? '')) return false
  const origin = request.headers.get('origin')
  if (origin !== null && !isLocalName(origin.replace(/^https?:\/\//, ''))) return false
  if (request.headers.get('sec-fetch-site') === 'cross-site') return false
  return ![...request.headers.keys()].some((name) => forwarding.test(name))
}
