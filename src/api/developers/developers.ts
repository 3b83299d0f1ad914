/**
 * `/developers`: assigns the rewards of a host to a wallet. A developer proves control of the wallet by a signed
 * message, and control of the host by a document on it.
 *
 * Requests come from strangers. The service requests documents only from hosts in the operator's rules, in the exact
 * spelling of the rules, and limits the rate for each host.
 */

import type { Limits } from '../../core/collections/limits.ts'
import { createTokenBuckets } from '../../core/collections/token-bucket.ts'
import { readClientAddress } from '../../core/http/client-address.ts'
import type { Network } from '../../core/money/tokens.ts'
import type { DeveloperBook, DocumentReading, ReadDocument } from '../../core/payouts/developers.ts'
import { developerDocumentPath } from '../../core/payouts/developers.ts'
import type { Verification } from '../../core/payouts/ports/rewards.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import type { Site } from '../auth/message.ts'
import type { Sites } from '../auth/origins.ts'
import { type Access, mayRead, turnAway, type Visitor } from '../http/access.ts'
import { createAttempts } from '../http/attempts.ts'
import { answer, problem } from '../http/errors.ts'
import { readPosted } from '../http/posted.ts'
import { type DeveloperBody, developerBody, revokeBody } from './bodies.ts'
import { createDeveloperMessages, type DeveloperMessageParts, type DeveloperMessages } from './messages.ts'

export interface DevelopersParts extends DeveloperMessageParts {
  readonly limits: Limits
  readonly book: DeveloperBook
  readonly log: Log
  readonly network: Network
  /** The id of the service, which a document may name instead of its origin. */
  readonly id: string
  readonly sites: Sites
  readonly trustProxy: number
  /** Hosts that can be verified, as `developerHostOf` writes them. Called for each request, because rules change. */
  readonly hosts: () => readonly string[]
  readonly readDocument: ReadDocument
}

/**
 * A developer who has just published the document retries and needs a fresh read. So a host may be read again
 * immediately a few times. Beyond that, the last result is returned for `freshMs`, so that the service does not flood
 * the host.
 */
const looksPerHost = { most: 5, secondsEach: 5 }
const freshMs = 5_000

export function createDevelopers(parts: DevelopersParts) {
  const { book, clock, sites } = parts
  const attempts = createAttempts(parts.limits, 'developers')
  const mayTry = (request: Request, { peer }: Visitor): Promise<boolean> => {
    const forwarded = request.headers.get('x-forwarded-for') ?? undefined
    return attempts.take(readClientAddress(peer, forwarded, parts.trustProxy))
  }
  const desk: Desk = {
    ...parts,
    messages: createDeveloperMessages(parts),
    readDocument: shareReadings(parts.readDocument, clock),
  }
  return {
    register: async (request: Request, visitor: Visitor) => {
      if (!(await mayTry(request, visitor))) return tooMany()
      const body = await readPosted(request, developerBody)
      if (body instanceof Response) return body
      const site = sites.of(request)
      return site ? register(desk, body, site) : problem('sign_in_unconfigured')
    },
    revoke: async (request: Request, visitor: Visitor, access: () => Promise<Access>) => {
      if (!(await mayTry(request, visitor))) return tooMany()
      const body = await readPosted(request, revokeBody)
      if (body instanceof Response) return body
      const { host, wallet, issuedAt, signature, signedMessage } = body
      if (wallet === undefined || issuedAt === undefined || signature === undefined) {
        const who = await access()
        return mayRead(who) ? revokeFor(desk, host, undefined) : turnAway(who)
      }
      const site = sites.of(request)
      if (!site) return problem('sign_in_unconfigured')
      const message = { host, wallet, issuedAt, signature, signedMessage }
      const why = desk.messages.doubt('revoke', message, site)
      return why === undefined ? revokeFor(desk, host, message) : refuse(why)
    },
    list: async (request: Request, access: () => Promise<Access>) => {
      const [verified, who] = await Promise.all([book.all(), access()])
      const { id, network, genesis, hosts } = parts
      return answer({
        service: sites.of(request)?.origin ?? null,
        id,
        network,
        genesis,
        time: new Date(clock.now()).toISOString(),
        developers: verified.map(formatVerification),
        // Hosts are for owners only: an upstream can be confidential.
        ...(mayRead(who) && { hosts: [...new Set(hosts())].toSorted() }),
      })
    },
  }
}

export type Developers = ReturnType<typeof createDevelopers>

interface Desk extends DevelopersParts {
  readonly messages: DeveloperMessages
}

async function register(desk: Desk, body: DeveloperBody, site: Site): Promise<Response> {
  const { book, messages, log } = desk
  const { host, wallet } = body
  if (!desk.hosts().includes(host)) return problem('host_unknown')
  const why = messages.doubt('register', body, site)
  if (why !== undefined) return refuse(why)
  const reading = await desk.readDocument(host)
  if (reading.kind === 'unavailable')
    return problem('document_unavailable', { detail: `Not verified: ${reading.why}.` })
  if (!isNamed(reading, wallet, desk)) return problem('document_refused', { detail: missing(reading, wallet, site) })
  if (!(await messages.use('register', body))) return refuse('the message has already been used')
  const verification = await book.assign(host, wallet)
  if (verification === 'busy') return problem('developers_busy')
  log.info('developer.verified', { host, wallet })
  return answer(formatVerification(verification))
}

/** Without a message, an owner revokes the wallet of any developer. */
async function revokeFor(desk: Desk, host: string, message: DeveloperBody | undefined): Promise<Response> {
  const { book, messages, log } = desk
  const current = await book.current(host)
  if (!current) return problem('not_verified')
  const { wallet } = current
  if (message && message.wallet !== wallet) return refuse('the host is verified for another wallet')
  if (message && !(await messages.use('revoke', message))) return refuse('the message has already been used')
  const ended = await book.end(host, wallet)
  if (ended === 'busy') return problem('developers_busy')
  if (!ended) return problem('not_verified')
  log.info('developer.revoked', { host, wallet })
  return answer({ host, wallet, revoked: true })
}

/** Whether the document assigns rewards of this service to the wallet. */
export function isNamed(
  reading: DocumentReading,
  wallet: string,
  { id, sites }: { readonly id: string; readonly sites: Pick<Sites, 'knows'> },
): boolean {
  if (reading.kind !== 'document') return false
  return reading.entries.some(
    (entry) => entry.wallet === wallet && (entry.service === id || sites.knows(entry.service.replace(/\/$/, ''))),
  )
}

function formatVerification({ host, wallet, from, until }: Verification) {
  return { host, wallet, from: new Date(from).toISOString(), until: new Date(until).toISOString() }
}

function refuse(why: string): Response {
  return problem('message_refused', { detail: `The signed message is invalid: ${why}. Sign a new one.` })
}

function tooMany(): Response {
  return problem('rate_limited', { detail: 'Too many requests from this address. Wait a minute.' })
}

/** States the content of the document and the required entry. */
function missing(reading: DocumentReading, wallet: string, { origin }: Site): string {
  const why = reading.kind === 'document' ? 'it does not name this wallet for this service' : reading.why
  const entry = JSON.stringify({ wallet, service: origin })
  return `The document at ${developerDocumentPath} is not valid: ${why}. Add ${entry} to it.`
}

/** Concurrent requests for one host share one read. */
function shareReadings(read: ReadDocument, clock: Clock): ReadDocument {
  const recent = new Map<string, { readonly at: number; readonly reading: Promise<DocumentReading>; isOver: boolean }>()
  const findBucket = createTokenBuckets(clock)
  return (host) => {
    const now = clock.monotonic()
    const before = recent.get(host)
    if (before && !before.isOver) return before.reading
    const credit = findBucket(host, looksPerHost)
    if (before && credit.left < 1 && now - before.at < freshMs) return before.reading
    credit.left = Math.max(0, credit.left - 1)
    const look = { at: now, reading: read(host), isOver: false }
    const end = (): void => {
      look.isOver = true
    }
    look.reading.then(end, end)
    recent.set(host, look)
    return look.reading
  }
}
