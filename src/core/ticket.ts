/**
 * What a browser is given to keep while a person pays: the requestId and the secret by which its payment is claimed, and
 * those of the price before, for which a payment may still be on its way. A cookie that scripts cannot read, for one address.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from './base64url.ts'
import { requestIdPattern } from './request-id.ts'

export interface Ticket {
  readonly requestId: string
  readonly secret: string
}

const cookiePattern = /^(paystile_[A-Za-z0-9_-]{16})=(.*)$/
const secretPattern = /^[A-Za-z0-9_-]{32}$/
/** The present one and the one before. */
const mostTickets = 2
const mostCookies = 4
const longestPath = 1_000

/** Each address with its query has a name of its own: one that is bought must not push out another. */
export function cookieName(target: string): string {
  return `paystile_${encodeBase64url(sha256(new TextEncoder().encode(target))).slice(0, 16)}`
}

/**
 * The tickets in a `Cookie` header, the present one first. What cannot be read is none. A browser sends several cookies of
 * one name where a neighbouring host has put some there, too: the own ones must not be hidden by them.
 */
export function readTickets(header: string | undefined, target: string): readonly Ticket[] {
  const name = cookieName(target)
  const own = cookiesIn(header).filter((cookie) => cookie.name === name)
  return own.slice(0, mostCookies).flatMap(({ tickets }) => tickets)
}

/** A cookie of ours, whatever address it is for. */
export interface TicketCookie {
  readonly name: string
  readonly tickets: readonly Ticket[]
}

/** Those for other addresses than this one. */
export function readOtherTickets(header: string | undefined, target: string): readonly TicketCookie[] {
  const name = cookieName(target)
  return cookiesIn(header).filter((cookie) => cookie.name !== name)
}

function cookiesIn(header: string | undefined): readonly TicketCookie[] {
  return (header ?? '').split(';').flatMap((cookie) => {
    const [, name = '', value = ''] = cookiePattern.exec(cookie.trim()) ?? []
    return name === '' ? [] : [{ name, tickets: value.split('~').slice(0, mostTickets).flatMap(readTicket) }]
  })
}

function readTicket(text: string): readonly Ticket[] {
  const [requestId = '', secret = '', ...rest] = text.split('.')
  const isTicket = requestIdPattern.test(requestId) && secretPattern.test(secret) && rest.length === 0
  return isTicket ? [{ requestId, secret }] : []
}

export interface TicketPlace {
  readonly target: string
  /** The path below which the service is reached from outside, where something in front takes it off. */
  readonly base?: string
  readonly seconds: number
  readonly isSecure: boolean
}

/** A `Set-Cookie` header. Without tickets it takes the cookie back; `name` where it is one for another address. */
export function formatTickets(
  tickets: readonly Ticket[],
  { target, base = '', seconds, isSecure }: TicketPlace,
  name = cookieName(target),
): string {
  const value = tickets
    .slice(0, mostTickets)
    .map(({ requestId, secret }) => `${requestId}.${secret}`)
    .join('~')
  return [
    `${name}=${value}`,
    `Path=${pathOf(`${base}${target}`)}`,
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
