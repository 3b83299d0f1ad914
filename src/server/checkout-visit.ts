/**
 * A person at a sold address: shown what was paid for by the ticket that the browser keeps, or the page on which to pay.
 *
 * While a price is good the same one is shown again, so that a reload never makes a second payment; and what was paid for
 * the price before is still found.
 */
import { encodeBase64url } from '../core/base64url.ts'
import type { CheckoutFacts, CheckoutState } from '../core/checkout.ts'
import { checkoutHeader, parseOrder } from '../core/checkout.ts'
import type { Refusal } from '../core/errors.ts'
import { refuse } from '../core/errors.ts'
import type { Answer, Incoming } from '../core/http.ts'
import { asciiJson } from '../core/http.ts'
import { equalBytes } from '../core/mac.ts'
import type { Proof } from '../core/proof.ts'
import { formatAccept, hashClaim } from '../core/proof.ts'
import type { Ticket } from '../core/ticket.ts'
import { formatTickets, readTickets } from '../core/ticket.ts'
import { formatAllowance } from './allowance-text.ts'
import type { CheckoutDesk, Purchase, Standing } from './checkout.ts'
import { renderCheckout } from './checkout-page.ts'
import type { PayDesk } from './pay-desk.ts'
import type { Service } from './service.ts'

/** Somebody who reads pages, and asks for one: not a script, and not a browser that fetches ahead. */
export function isForPeople(incoming: Incoming): boolean {
  if (incoming.method !== 'GET' || incoming.header('accept')?.includes('text/html') !== true) return false
  const destination = incoming.header('sec-fetch-dest')
  if (destination !== undefined && destination !== 'document') return false
  return !/prefetch|prerender/.test(`${incoming.header('sec-purpose')} ${incoming.header('purpose')}`)
}

/** What a browser's ticket is worth. */
export interface Found {
  readonly ticket: Ticket
  readonly purchase: Purchase
  readonly standing: Standing
  /** What to show for it, where it was paid. */
  readonly proof: Proof | undefined
}

export interface CheckoutVisits extends PayDesk {
  /** The tickets of this browser for this request, the present one first. */
  find(incoming: Incoming): Promise<readonly Found[]>
  /** The page: for the price of a ticket that is still good, or for a new one. */
  page(incoming: Incoming, found: readonly Found[]): Promise<Answer | Refusal>
}

export function createVisits(service: Service, desk: CheckoutDesk): CheckoutVisits {
  const { route } = desk
  const { clock } = service
  const isGood = ({ request }: Purchase): boolean => clock.now() < (request.issuedAt + request.ttlSeconds) * 1000

  const openTicket = async (ticket: Ticket, incoming: Incoming): Promise<Purchase | undefined> => {
    const purchase = desk.open(ticket.requestId)
    const claimTag = purchase?.request.claimTag
    if (!purchase || !claimTag || !equalBytes(claimTag, service.tags.claim(hashClaim(ticket.secret)))) return undefined
    const bindings = await route.bindingsOf(incoming)
    if ('kind' in bindings) return undefined
    return bindings.some((tag) => equalBytes(tag, purchase.request.bindingTag)) ? purchase : undefined
  }
  const issue = async (incoming: Incoming): Promise<{ ticket: Ticket; purchase: Purchase } | Refusal> => {
    const secret = encodeBase64url(crypto.getRandomValues(new Uint8Array(24)))
    const accept = formatAccept({ kind: 'claim', hash: hashClaim(secret) })
    const header = (name: string) => (name === 'payment-accept' ? accept : incoming.header(name))
    const quoted = await route.quote({ ...incoming, header })
    if (quoted.kind === 'refused') return quoted
    service.usage.count(quoted.endpoint, 'challenged')
    const purchase = desk.open(quoted.requestId)
    return purchase ? { ticket: { requestId: quoted.requestId, secret }, purchase } : refuse('not_priced')
  }

  return {
    find: async (incoming) => {
      const found: Found[] = []
      for (const ticket of readTickets(incoming.header('cookie'), incoming.target)) {
        const purchase = await openTicket(ticket, incoming)
        if (!purchase) continue
        const standing = await desk.standingOf(purchase, incoming)
        const isPaid = standing.state.state === 'paid' && standing.proof !== undefined
        const proof = isPaid && standing.proof ? { ...standing.proof, claim: ticket.secret } : undefined
        found.push({ ticket, purchase, standing, proof })
      }
      return found
    },
    page: async (incoming, found) => {
      // Something is on its way, or the price stands: the same page again. What was used up begins anew.
      const kept = found.find(({ standing }) => lasting.includes(standing.state.state))
      const good = kept ?? found.find(({ purchase, standing }) => isGood(purchase) && standing.state.state !== 'used')
      const current = good ?? (await issue(incoming))
      if ('code' in current) return current
      const before = found.filter(
        ({ ticket, standing }) => ticket !== current.ticket && standing.state.state !== 'used',
      )
      const state: CheckoutState = good?.standing.state ?? { state: 'waiting' }
      const isAgain = found.some(({ standing }) => standing.state.state === 'used')
      const facts = factsOf(service, desk, current.purchase, { incoming, state, isAgain, then: 'reload' })
      const origin = route.config.publicUrl ?? incoming.origin()
      const cookie = formatTickets([current.ticket, ...before.map(({ ticket }) => ticket)], {
        target: incoming.target,
        seconds: route.config.challengeTtlSeconds + route.config.proofTtlSeconds,
        isSecure: origin.startsWith('https:'),
      })
      const page = pageOf(service, desk, current.purchase, facts)
      return { ...page, headers: { ...page.headers, 'Set-Cookie': cookie } }
    },
    title: route.config.description ?? route.config.endpoint?.path ?? 'paystile',
    payPage: async (requestId, incoming) => {
      const purchase = desk.open(requestId)
      if (!purchase) return undefined
      const { state } = await desk.standingOf(purchase, incoming)
      const facts = factsOf(service, desk, purchase, { incoming, state, isAgain: false, then: 'return' })
      return pageOf(service, desk, purchase, facts)
    },
    draft: async (requestId, account, wanted, incoming) => {
      const purchase = desk.open(requestId)
      const token = wanted ?? (purchase && desk.tokensOf(purchase)[0]?.token)
      return purchase && token ? desk.prepare(purchase, token, account, incoming) : refuse('unknown_request')
    },
    answer: async (header, incoming) => {
      const order = parseOrder(header)
      if (!order) return refuse('proof_malformed', { detail: `The header ${checkoutHeader} cannot be read.` })
      const answer = await desk.answer(order, incoming)
      return 'code' in answer ? (answer as Refusal) : jsonAnswer(answer)
    },
  }
}

/** States in which nothing is to be paid, whatever became of the price. */
const lasting: readonly CheckoutState['state'][] = ['paid', 'confirming']

function jsonAnswer(value: object): Answer {
  const body = asciiJson(value)
  const headers = { ...pageHeaders, 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
  return { kind: 'answer', status: 200, headers, body }
}

const pageHeaders = {
  'Cache-Control': 'no-store',
  Vary: 'Accept, Cookie, Payment-Proof, Payment-Accept, Payment-Checkout',
  'X-Content-Type-Options': 'nosniff',
} as const

interface Scene {
  readonly incoming: Incoming
  readonly state: CheckoutState
  readonly isAgain: boolean
  readonly then: CheckoutFacts['then']
}

function factsOf(service: Service, desk: CheckoutDesk, purchase: Purchase, scene: Scene): CheckoutFacts {
  const { config } = desk.route
  const { network } = service.config
  const { request, requestId, recipient } = purchase
  const origin = config.publicUrl ?? scene.incoming.origin()
  const path = scene.then === 'reload' ? scene.incoming.target.split('?', 1)[0] : config.endpoint?.path
  return {
    requestId,
    network,
    chain: `solana:${network}`,
    recipient,
    seller: URL.canParse(origin) ? new URL(origin).host : origin,
    what: config.description ?? path ?? '/',
    buys: formatAllowance(request.allowance),
    tokens: desk.tokensOf(purchase),
    expiresAt: (request.issuedAt + request.ttlSeconds) * 1000,
    now: Math.floor(service.clock.now()),
    standing: scene.state,
    then: scene.then,
    isAgain: scene.isAgain,
  }
}

/** The document, under a policy by which only its own script runs and nothing is loaded from elsewhere. */
function pageOf(service: Service, desk: CheckoutDesk, purchase: Purchase, facts: CheckoutFacts): Answer {
  const nonce = encodeBase64url(crypto.getRandomValues(new Uint8Array(18)))
  const first = facts.tokens[0]?.token ?? desk.route.config.pricing.token
  const view = desk.view(purchase, first) ?? { uri: '', rows: [] }
  const body = renderCheckout(facts, { view, nonce, ...service.checkoutFiles })
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    kind: 'answer',
    status: 402,
    headers: {
      ...pageHeaders,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': String(body.length),
      'Content-Security-Policy': policy.join('; '),
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin-allow-popups',
    },
    body,
  }
}
