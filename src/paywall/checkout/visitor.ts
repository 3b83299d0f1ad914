/**
 * Handles a person at a sold address: serves the resource for the ticket in the browser, or shows the checkout page.
 *
 * While a price is valid, the same one is shown again, so that a reload never leads to a second payment. A payment for
 * the previous price is still found.
 */
import { formatTickets, readTickets, type Ticket, type TicketPlace } from '../../core/checkout/cookie.ts'
import { formatAccess, formatAllowance } from '../../core/checkout/languages/allowance-text.ts'
import { readLanguage } from '../../core/checkout/languages/language.ts'
import type { CheckoutFacts, CheckoutOrder, CheckoutState } from '../../core/checkout/messages.ts'
import { checkoutHeader, parseOrder } from '../../core/checkout/messages.ts'
import { isPayable } from '../../core/checkout/texts.ts'
import type { BucketRate } from '../../core/collections/token-bucket.ts'
import { encodeBase64url } from '../../core/encoding/base64url.ts'
import { equalBytes } from '../../core/encoding/hmac.ts'
import { parseUrl } from '../../core/encoding/url.ts'
import { isForwardedSecure, readClientAddress, unknownAddress } from '../../core/http/client-address.ts'
import { type Answer, asciiJson, type Incoming } from '../../core/http/http.ts'
import { type Refusal, refuse } from '../../core/payment/refusals.ts'
import { formatAccept, hashClaim, type Proof } from '../../core/protocol/proof.ts'
import { isReturned } from '../claim/refunded.ts'
import { clip, createNonce, createPage } from '../pages/document.ts'
import { clockWrong } from '../quote/readiness-report.ts'
import type { Quoted } from '../quote/route.ts'
import type { RouteRuntime } from '../quote/route-runtime.ts'
import type { PayDesk } from '../runtime/pay-desk.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type CheckoutActions, needsSignature } from './actions.ts'
import { renderCheckout } from './page.ts'
import type { Purchase, PurchaseState } from './purchase-state.ts'
import { findStaleCookies } from './stale-cookies.ts'

/** The purchase of a browser's ticket. */
export interface FoundPurchase {
  readonly ticket: Ticket
  readonly purchase: Purchase
  readonly status: PurchaseState
  /** The proof of its payment, if it was paid. */
  readonly proof: Proof | undefined
}

/** The page, and its quote if it is new. */
export interface ShownPage {
  readonly kind: 'shown'
  readonly answer: Answer
  readonly quoted: Quoted | undefined
}

export interface CheckoutVisitors extends PayDesk {
  /** Whether this client may get a page now. Others get the response for programs, which costs almost nothing. */
  mayEnter(incoming: Incoming): Promise<boolean>
  /** The tickets of this browser for this request, the current one first. */
  find(incoming: Incoming): Promise<readonly FoundPurchase[]>
  /** The page: for the price of a valid ticket, or for a new one. */
  page(incoming: Incoming, found: readonly FoundPurchase[]): Promise<ShownPage | Refusal>
  /**
   * Handles the requests of the page's script. They need the ticket of the browser, without which no payment is
   * possible.
   */
  attend(header: string, incoming: Incoming): Promise<Answer | Refusal>
}

/** Counts the requests of a client. Returns false above the limit. */
function limitVisits({ runtime, route }: RouteRuntime) {
  const limits = runtime.openLimits()
  const { scope, endpoint } = route.config
  return async (incoming: Incoming, what: keyof typeof rates): Promise<boolean> => {
    const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
    const { most, secondsEach } = rates[what]
    // Clients without a known address share one budget, so it is larger, and one client alone cannot exhaust it.
    const crowd = address === unknownAddress ? unknownClients : 1
    const rate = { most: most * crowd, secondsEach: secondsEach / crowd }
    const book = JSON.stringify(['checkout', what, scope, endpoint])
    const entry = await limits.enter({ buckets: [{ book, name: address, rate }], cost: 1 })
    return entry.kind === 'in'
  }
}

interface IssuedTicket {
  readonly ticket: Ticket
  readonly purchase: Purchase
  readonly quoted: Quoted
}

interface Tickets {
  placeOf(incoming: Incoming): TicketPlace
  /** The purchase of a ticket that is good for this request. */
  openTicket(ticket: Ticket, incoming: Incoming): Promise<Purchase | undefined>
  /** A new price. */
  issue(incoming: Incoming): Promise<IssuedTicket | Refusal>
}

function createTickets({ runtime, route }: RouteRuntime, desk: CheckoutActions): Tickets {
  const { publicUrl, trustProxy } = route.config
  const base = new URL(publicUrl ?? 'http://localhost').pathname.replace(/\/$/, '')
  const placeOf: Tickets['placeOf'] = (incoming) => {
    const isSecure =
      (publicUrl ?? incoming.origin()).startsWith('https:') ||
      (publicUrl === undefined && isForwardedSecure(incoming.header('x-forwarded-proto'), trustProxy))
    return { target: incoming.target, base, isSecure }
  }
  const openTicket: Tickets['openTicket'] = async (ticket, incoming) => {
    const purchase = await desk.open(ticket.requestId)
    const claimTag = purchase?.request.claimTag
    if (!purchase || !claimTag || !equalBytes(claimTag, runtime.tags.claim(hashClaim(ticket.secret)))) return undefined
    const found = await route.findTerms(incoming, purchase.request, purchase.recipient)
    return found.kind === 'quoted' ? purchase : undefined
  }
  const issue: Tickets['issue'] = async (incoming) => {
    const secret = encodeBase64url(crypto.getRandomValues(new Uint8Array(24)))
    const accept = formatAccept({ kind: 'claim', hash: hashClaim(secret) })
    const header = (name: string) => (name === 'payment-accept' ? accept : incoming.header(name))
    const quoted = await route.quoteVisitor({ ...incoming, header })
    if (quoted.kind === 'refused') return quoted
    const purchase = await desk.open(quoted.requestId)
    return purchase ? { ticket: { requestId: quoted.requestId, secret }, purchase, quoted } : refuse('not_priced')
  }
  return { placeOf, openTicket, issue }
}

export function createVisitors(routeRuntime: RouteRuntime, desk: CheckoutActions): CheckoutVisitors {
  const { runtime, route } = routeRuntime
  const { clock } = runtime
  const spend = limitVisits(routeRuntime)
  const title = route.config.description ?? route.config.endpoint?.path ?? 'paystile'
  const { placeOf, openTicket, issue } = createTickets(routeRuntime, desk)

  /** Refuses a browser that kept no ticket, or another one: it would pay without ever getting the resource. */
  const refuseWithoutTicket = async (order: CheckoutOrder, incoming: Incoming): Promise<Refusal | undefined> => {
    const purchase = await desk.open(order.requestId)
    if (order.kind === 'view' || !purchase) return undefined
    const state = order.kind === 'status' && (await desk.readState(purchase, incoming, order.tx)).state
    if (state && !isPayable(state)) return undefined
    const hasTicket = readTickets(incoming.header('cookie'), placeOf(incoming)).length > 0
    return explainTicket(incoming, hasTicket ? 'newerCookie' : 'noCookie')
  }
  const holds = async (requestId: string, incoming: Incoming): Promise<boolean> => {
    const tickets = readTickets(incoming.header('cookie'), placeOf(incoming))
    const own = tickets.filter((ticket) => ticket.requestId === requestId)
    return (await Promise.all(own.map((ticket) => openTicket(ticket, incoming)))).some((purchase) => purchase)
  }
  const answer = async (header: string, incoming: Incoming, needsTicket: boolean): Promise<Answer | Refusal> => {
    const order = parseOrder(header)
    if (!order) return refuse('proof_malformed', { detail: `The header ${checkoutHeader} cannot be read.` })
    const isQuestion = order.kind === 'status' || order.kind === 'view' || order.kind === 'receipt'
    if (!(await spend(incoming, isQuestion ? 'question' : 'payment'))) return refuse('rate_limited')
    const isHolder = needsTicket && (await holds(order.requestId, incoming))
    // The receipt names the whole address and the payer's pseudonym, and requestIds are public on the chain.
    if (order.kind === 'receipt' && !isHolder) return refuse('claim_required')
    const refusal = needsTicket && !isHolder ? await refuseWithoutTicket(order, incoming) : undefined
    if (refusal) return refusal
    const told = await desk.answer(order, incoming)
    if ('code' in told) return told as Refusal
    const answered = jsonAnswer(isHolder ? told : withoutUse(told, needsTicket ? 'stranded' : 'paid'))
    return { ...answered, headers: { ...answered.headers, [checkoutHeader]: runtime.checkoutFiles.version } }
  }

  return {
    mayEnter: (incoming) => spend(incoming, 'page'),
    find: async (incoming) => {
      const found: FoundPurchase[] = []
      for (const ticket of readTickets(incoming.header('cookie'), placeOf(incoming))) {
        const purchase = await openTicket(ticket, incoming)
        if (!purchase) continue
        const status = await desk.readState(purchase, incoming)
        const isPaid = status.state.state === 'paid' && status.proof !== undefined
        const proof = isPaid && status.proof ? { ...status.proof, claim: ticket.secret } : undefined
        found.push({ ticket, purchase, status, proof })
      }
      return found
    },
    page: async (incoming, found) => {
      const { shown, isGood } = choose(found, clock.now())
      const current = shown ?? (await issue(incoming))
      if ('code' in current) return current
      const others = found.filter(({ ticket }) => ticket !== current.ticket).filter((one) => readState(one) !== 'used')
      const state: CheckoutState = shown?.status.state ?? { state: 'waiting' }
      const used = found.find((one) => readState(one) === 'used')
      // A ticket that the browser has sent is one that it keeps.
      const kept = { isKept: shown !== undefined, after: 'reload' } as const
      const scene: Scene = { incoming, state, ...(await describeEarlier(runtime, used)), ...kept }
      const facts = factsOf(routeRuntime, desk, current.purchase, scene)
      const place = { ...placeOf(incoming), seconds: route.config.challengeTtlSeconds + route.config.proofTtlSeconds }
      const cookie = formatTickets(pickTickets([...(isGood ? [current] : []), ...others], used), place)
      const outworn = await findStaleCookies(runtime, incoming, place, cookie.indexOf(';'))
      const cookies = outworn.map((name) => formatTickets([], place, name))
      const page = pageOf(runtime, desk, current.purchase, { facts, incoming })
      const answer = { ...page, headers: { ...page.headers, 'Set-Cookie': cookie }, cookies }
      return { kind: 'shown', answer, quoted: 'quoted' in current ? current.quoted : undefined }
    },
    title,
    label: route.config.seller?.name ?? title,
    readState: async (requestId, incoming) => {
      const purchase = await desk.open(requestId)
      return purchase && (await desk.readState(purchase, incoming)).state.state
    },
    payPage: async (requestId, incoming) => {
      const purchase = await desk.open(requestId)
      if (!purchase) return undefined
      if (purchase.request.proof === 'sig') return needsSignature
      if (!(await spend(incoming, 'page'))) return refuse('rate_limited')
      const { state: seen } = await desk.readState(purchase, incoming)
      const state = withoutUse(seen, 'paid')
      if (route.whyClosed() !== undefined && isPayable(state)) return clockWrong
      const about = { incoming, state, isAgain: false, isKept: true, after: 'return' } as const
      return pageOf(runtime, desk, purchase, { facts: factsOf(routeRuntime, desk, purchase, about), incoming })
    },
    draft: async (requestId, account, wanted, incoming) => {
      const purchase = await desk.open(requestId)
      const token = wanted ?? (purchase && desk.listTokens(purchase)[0]?.token)
      if (!purchase || !token) return refuse('unknown_request')
      if (!(await spend(incoming, 'payment'))) return refuse('rate_limited')
      return desk.prepare(purchase, token, account, incoming)
    },
    answer: (header, incoming) => answer(header, incoming, false),
    attend: (header, incoming) => answer(header, incoming, true),
  }
}

function explainTicket(incoming: Incoming, why: 'newerCookie' | 'noCookie'): Refusal {
  return refuse('claim_required', { detail: readLanguage(incoming).texts.page[why] })
}

/** Clients without a known address count as this many. */
const unknownClients = 50

/** A requestId is public on the chain. Strangers must not learn whether its resource was delivered. */
function withoutUse<Told extends object>(told: Told, instead: 'paid' | 'stranded'): Told {
  if (!('state' in told)) return told
  const isHidden = told.state === 'used' || (told.state === 'paid' && instead === 'stranded')
  return isHidden ? { ...told, state: instead } : told
}

/**
 * Limits per client address. A page costs a thousand times as much as a challenge, and a payment needs requests to
 * nodes.
 */
const rates: Readonly<Record<'page' | 'question' | 'payment', BucketRate>> = {
  page: { most: 60, secondsEach: 0.5 },
  question: { most: 120, secondsEach: 0.2 },
  payment: { most: 30, secondsEach: 2 },
}

/** The tickets that may still lead to a delivery: that of the price on the page, and the one before. */
const mostOpen = 2

/** The tickets to keep. That of a delivered purchase opens its receipt. */
function pickTickets(open: readonly Pick<FoundPurchase, 'ticket'>[], used: FoundPurchase | undefined) {
  return [...open.slice(0, mostOpen), ...(used ? [used] : [])].map(({ ticket }) => ticket)
}

/** States in which no payment is due, even if the price has expired. */
const lasting: readonly CheckoutState['state'][] = ['paid', 'confirming']
/** Payments that do not open the resource. */
const lost: readonly CheckoutState['state'][] = ['late', 'short', 'wrong']

function readState({ status }: FoundPurchase): CheckoutState['state'] {
  return status.state.state
}

async function describeEarlier({ ledger }: Runtime, used: FoundPurchase | undefined) {
  const tx = used?.status.proof?.txBytes
  return {
    isAgain: used !== undefined,
    bought: used?.ticket.requestId,
    isReturned: tx !== undefined && (await isReturned(ledger, tx)),
  }
}

/** The ticket to show again, and whether it is still valid. */
function choose(found: readonly FoundPurchase[], now: number) {
  // A payment is on its way, or the quote is still valid. After a used payment, a new purchase starts.
  const onItsWay = found.find((one) => lasting.includes(readState(one)))
  const good = onItsWay ?? found.find((one) => now < one.purchase.expiresAt && readState(one) !== 'used')
  if (good) return { shown: good, isGood: true }
  // A failed payment is reported once. Then a new quote is issued.
  const told = found.find((one) => lost.includes(readState(one)))
  return { shown: told, isGood: told === undefined }
}

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
  readonly bought?: string | undefined
  /** The payment of that earlier purchase was refunded. */
  readonly isReturned?: boolean
  readonly isKept: boolean
  readonly after: CheckoutFacts['after']
}

/** Whether the page may show the resource itself. Bytes and files are for downloads. */
function mayBeRead({ types }: RouteRuntime, { target }: Incoming, { request }: Purchase): boolean {
  const { unit } = request.allowance
  return types.isJson(target) !== false && (unit === 'request' || unit === 'second')
}

function factsOf(routeRuntime: RouteRuntime, desk: CheckoutActions, purchase: Purchase, scene: Scene): CheckoutFacts {
  const { runtime } = routeRuntime
  const { config } = desk.route
  const { network } = runtime.config
  const { request, requestId, recipient } = purchase
  const origin = config.publicUrl ?? scene.incoming.origin()
  const language = readLanguage(scene.incoming)
  const { checkout, page } = language.texts
  const { allowance } = request
  const format = config.reopen && allowance.unit === 'second' ? formatAccess : formatAllowance
  const host = parseUrl(origin)?.host ?? origin
  const path = scene.after === 'reload' ? scene.incoming.target.split('?', 1)[0] : config.endpoint?.path
  return {
    version: runtime.checkoutFiles.version,
    requestId,
    texts: scene.isReturned ? { ...checkout, againText: page.againRefunded } : checkout,
    locale: language.locale,
    network,
    chain: `solana:${network}`,
    recipient,
    seller: config.seller?.name ?? clip(host),
    host,
    what: config.description ?? path ?? '/',
    buys: format(allowance, language),
    tokens: desk.listTokens(purchase),
    ...(purchase.splits.length > 0 && { isSplit: true }),
    expiresAt: purchase.expiresAt,
    now: Math.floor(runtime.clock.now()),
    standing: scene.state,
    after: scene.after,
    isAgain: scene.isAgain,
    ...(scene.bought !== undefined && { bought: scene.bought }),
    ...(scene.after === 'return' && config.seller?.returnUrl !== undefined && { returnUrl: config.seller.returnUrl }),
    ...(config.reopen && { canReopen: true }),
    ...(scene.after === 'reload' && mayBeRead(routeRuntime, scene.incoming, purchase) && { isReadable: true }),
    isKept: scene.isKept,
  }
}

/** The document for a purchase. */
function pageOf(
  runtime: Runtime,
  desk: CheckoutActions,
  purchase: Purchase,
  { facts, incoming }: { readonly facts: CheckoutFacts; readonly incoming: Incoming },
): Answer {
  const language = readLanguage(incoming)
  const { seller, pricing } = desk.route.config
  const nonce = createNonce()
  const view = desk.view(purchase, facts.tokens[0]?.token ?? pricing.token) ?? { uri: '' }
  const home = runtime.findFrontPage()
  const body = renderCheckout(facts, { view, nonce, seller, home, language, ...runtime.checkoutFiles })
  return createPage({ status: 402, language, body, nonce, seller, headers: pageHeaders })
}
