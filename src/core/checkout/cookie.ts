/**
 * What a browser is given to keep while a person pays: the requestId and the secret by which its payment is claimed, and
 * those of the price before, for which a payment may still be on its way. A cookie that scripts cannot read, for one page
 * address.
 *
 * On https it has the prefix `__Host-`, which browsers take from this very host only: a neighbour under the same domain
 * could otherwise plant a ticket of its own, and claim what the visitor pays for. Such a cookie has the path `/`, so its
 * name stands for the address, and no cookie of another name is read.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { requestIdPattern } from '../protocol/request-id.ts'

export interface Ticket {
  readonly requestId: string
  readonly secret: string
}

/** Where a ticket is good. */
export interface TicketPlace {
  readonly target: string
  /** The path below which the service is reached from outside, where something in front takes it off. */
  readonly base?: string
  /** Whether the browser came by https. */
  readonly isSecure: boolean
}

const hostPrefix = '__Host-'
const cookiePattern = /^((?:__Host-)?paystile_[A-Za-z0-9_-]{16})=(.*)$/
const secretPattern = /^[A-Za-z0-9_-]{32}$/
/** The present one and the one before. */
const mostTickets = 2
const mostCookies = 4
const longestPath = 1_000

/** Each address with its query has a name of its own: one that is bought must not push out another. */
export function cookieName({ target, base = '', isSecure }: TicketPlace): string {
  const hash = encodeBase64url(sha256(new TextEncoder().encode(`${base}${target}`))).slice(0, 16)
  return `${isSecure ? hostPrefix : ''}paystile_${hash}`
}

/**
 * The tickets in a `Cookie` header, the present one first. What cannot be read is none. Without https a browser sends
 * several cookies of one name where a neighbouring host has put some there, too: the own ones must not be hidden by them.
 */
export function readTickets(header: string | undefined, place: TicketPlace): readonly Ticket[] {
  const name = cookieName(place)
  const own = cookiesIn(header).filter((cookie) => cookie.name === name)
  return own.slice(0, mostCookies).flatMap(({ tickets }) => tickets)
}

/** A cookie of ours, whatever address it is for. */
export interface TicketCookie {
  readonly name: string
  readonly tickets: readonly Ticket[]
  /** Of name and value. */
  readonly bytes: number
}

/** Those for other addresses than this one, of the kind that is read here. */
export function readOtherTickets(header: string | undefined, place: TicketPlace): readonly TicketCookie[] {
  const own = cookieName(place)
  return cookiesIn(header).filter(({ name }) => name !== own && name.startsWith(hostPrefix) === place.isSecure)
}

function cookiesIn(header: string | undefined): readonly TicketCookie[] {
  return (header ?? '').split(';').flatMap((cookie) => {
    const text = cookie.trim()
    const [, name = '', value = ''] = cookiePattern.exec(text) ?? []
    if (name === '') return []
    return [{ name, tickets: value.split('~').slice(0, mostTickets).flatMap(readTicket), bytes: text.length }]
  })
}

function readTicket(text: string): readonly Ticket[] {
  const [requestId = '', secret = '', ...rest] = text.split('.')
  const isTicket = requestIdPattern.test(requestId) && secretPattern.test(secret) && rest.length === 0
  return isTicket ? [{ requestId, secret }] : []
}

/** A `Set-Cookie` header. Without tickets it takes the cookie back; `name` where it is one for another address. */
export function formatTickets(
  tickets: readonly Ticket[],
  { seconds, ...place }: TicketPlace & { readonly seconds: number },
  name = cookieName(place),
): string {
  const { target, base = '', isSecure } = place
  const value = tickets
    .slice(0, mostTickets)
    .map(({ requestId, secret }) => `${requestId}.${secret}`)
    .join('~')
  return [
    `${name}=${value}`,
    `Path=${isSecure ? '/' : pathOf(`${base}${target}`)}`,
    `Max-Age=${tickets.length === 0 ? 0 : Math.max(0, Math.floor(seconds))}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ')
}

/** The path of an address, as far as a cookie can name it. */
function pathOf(target: string): string {
  const [path = '/'] = target.split('?', 1)
  // Browsers do not take a cookie with a longer one.
  const plain = (/^\/[\x21-\x3a\x3c-\x7e]*/.exec(path)?.[0] ?? '/').slice(0, longestPath)
  return plain === path ? path : plain.slice(0, plain.lastIndexOf('/') + 1)
}
