/**
 * The ticket: the cookie that a browser keeps while a person pays. It holds the requestId and the claim secret, and
 * those of the previous price, because a payment for that price may still be on its way. Those of a purchase that was
 * delivered open its receipt. Scripts cannot read the cookie, and it is valid for one page address.
 *
 * On https its name has the prefix `__Host-`, which browsers accept only from this host. Otherwise a neighbouring host
 * under the same domain could plant its own ticket and claim the visitor's payment. Such a cookie has the path `/`, so
 * the address is encoded in its name, and cookies with other names are ignored.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { requestIdPattern } from '../protocol/request-id.ts'

export interface Ticket {
  readonly requestId: string
  readonly secret: string
}

/** The address for which a ticket is valid. */
export interface TicketPlace {
  readonly target: string
  /** The public path prefix of the service, if a proxy in front removes it. */
  readonly base?: string
  /** Whether the browser used https. */
  readonly isSecure: boolean
}

const hostPrefix = '__Host-'
const cookiePattern = /^((?:__Host-)?paystile_[A-Za-z0-9_-]{16})=(.*)$/
const secretPattern = /^[A-Za-z0-9_-]{32}$/
/** The current ticket, the previous one, and that of a delivered purchase. */
const mostTickets = 3
const mostCookies = 4
const longestPath = 1_000

/** Each address with its query has its own cookie name, so that one purchase does not overwrite another. */
export function cookieName({ target, base = '', isSecure }: TicketPlace): string {
  const hash = encodeBase64url(sha256(new TextEncoder().encode(`${base}${target}`))).slice(0, 16)
  return `${isSecure ? hostPrefix : ''}paystile_${hash}`
}

/**
 * Reads the tickets from a `Cookie` header, the current one first. Unreadable tickets are ignored.
 *
 * Without https, a neighbouring host can set cookies of the same name, and the browser sends all of them. Several are
 * read, so that foreign cookies cannot hide the service's own.
 */
export function readTickets(header: string | undefined, place: TicketPlace): readonly Ticket[] {
  const name = cookieName(place)
  const own = cookiesIn(header).filter((cookie) => cookie.name === name)
  return own.slice(0, mostCookies).flatMap(({ tickets }) => tickets)
}

/** A ticket cookie for any address. */
export interface TicketCookie {
  readonly name: string
  readonly tickets: readonly Ticket[]
  /** Size of name and value. */
  readonly bytes: number
}

/** Reads the tickets for all other addresses, of the kind (https or not) that applies here. */
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

/**
 * Writes a `Set-Cookie` header. Without tickets it deletes the cookie. `name` selects the cookie of another address.
 */
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

/** The path of an address, as far as a cookie can express it. */
function pathOf(target: string): string {
  const [path = '/'] = target.split('?', 1)
  // Browsers reject a cookie with a longer path.
  const plain = (/^\/[\x21-\x3a\x3c-\x7e]*/.exec(path)?.[0] ?? '/').slice(0, longestPath)
  return plain === path ? path : plain.slice(0, plain.lastIndexOf('/') + 1)
}
