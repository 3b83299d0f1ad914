/**
 * Handles a request to a route. Without a proof, the response is the price, or the checkout page for people. With a
 * proof, the payment is verified.
 */
import { parseOrder } from '../core/checkout/messages.ts'
import { decodeAddress } from '../core/encoding/base58.ts'
import { readClientAddress } from '../core/http/client-address.ts'
import { nameEndpoint } from '../core/http/endpoint.ts'
import type { Answer, Incoming } from '../core/http/http.ts'
import { type Refusal, refuse } from '../core/payment/refusals.ts'
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import type { RefusedPayment } from '../core/protocol/challenge.ts'
import type { ForeignDialect, Reading, RefusalFacts } from '../dialects/dialect.ts'
import type { CheckoutVisitors } from './checkout/visitor.ts'
import { type Admission, admit } from './claim/admit.ts'
import { settlePayment } from './claim/settle.ts'
import type { Claim } from './claim/verify-on-chain.ts'
import type { RecentAdmission, RecentAdmissions } from './delivery/admission-cache.ts'
import type { BundleSlices, SlicedAdmission } from './delivery/bundle-slices.ts'
import { type Delivery, openDelivery } from './delivery/delivery.ts'
import type { PaymentFacts, ReceiptCache } from './delivery/receipt.ts'
import { isForPeople } from './pages/for-people.ts'
import { clockWrong } from './quote/readiness-report.ts'
import type { Quoted } from './quote/route.ts'
import { countUsage, emit, type RouteRuntime } from './quote/route-runtime.ts'
import type { PayDesk } from './runtime/pay-desk.ts'

export interface Admitted {
  readonly kind: 'admitted'
  /** Undefined if the same paywall, mounted twice, has already admitted the request. */
  readonly pass: Delivery | undefined
}
export type RequestOutcome = Answer | Admitted

export const notStarted = refuse('chain_unavailable', { detail: 'The service has not started yet.' })
export const noLedger = refuse('ledger_unavailable', { detail: 'The service has not started yet.' })
const unavailable = refuse('resource_unavailable')
const notSold = refuse('resource_unavailable', {
  detail: 'The resource is unavailable at the moment. Nothing is sold until it is back.',
})
const misconfigured = refuse('not_priced', { detail: 'The service is misconfigured. See its log.' })

/** A route with the state of its clients. */
export interface ServedRoute extends RouteRuntime {
  /** Undefined unless the route sells bundles or time. */
  readonly admissions: RecentAdmissions | undefined
  /** Undefined unless the route sells bundles. */
  readonly slices: BundleSlices | undefined
  /** The checkout for people in a browser. Undefined without a checkout page. */
  readonly visits: CheckoutVisitors | undefined
}

/** The mark is a property of the request. A WeakMap would keep the request alive until V8's next major collection. */
const mark = Symbol('paystile.admitted')

type Marked = { [mark]?: { readonly by: RouteRuntime; readonly facts: (() => PaymentFacts) | undefined } }

/**
 * The route that admitted the request. If the same paywall is mounted twice, the second one must not treat the payment
 * as in use by another request.
 */
function findAdmitting(request: object): RouteRuntime | undefined {
  return (request as Marked)[mark]?.by
}

function markAdmitted(request: object, by: RouteRuntime, facts?: () => PaymentFacts): void {
  ;(request as Marked)[mark] = { by, facts }
}

/** The payment of an admitted request, for its handler. Undefined for other requests. */
export function paymentOf(request: object): PaymentFacts | undefined {
  return (request as Marked)[mark]?.facts?.()
}

/** Decides on a request: served, asked to pay, or refused. */
export function enterRoute(served: ServedRoute, incoming: Incoming): RequestOutcome | Promise<RequestOutcome> {
  const { dialects, admissions, visits, paused } = served
  const before = findAdmitting(incoming.request)
  if (paused !== undefined && before !== served) {
    const answer = enterPaused(served, incoming)
    if (answer) return answer
  }
  const recent = served.open && !before ? admissions?.find(incoming) : undefined
  if (recent) {
    const claim: Claim = { routeRuntime: served, incoming, proof: recent.proof }
    // The use of an open window is not recorded.
    if (recent.admission.allowance.unit === 'second') return deliver(claim, recent.admission, recent.receipts)
    const drawn = served.slices?.draw(claim, recent.admission)
    return drawn ? deliver(claim, drawn, recent.receipts) : redeem(served, claim, recent)
  }
  const read = dialects.read(incoming)
  if (read === undefined) {
    const order = visits && incoming.header('payment-checkout')
    if (visits && order !== undefined) return attend(served, visits, order, incoming)
    return challenge(served, incoming)
  }
  const { reading, via } = read
  if (reading.kind === 'malformed') {
    const refusal = refuse('proof_malformed', { detail: `The header cannot be read: ${reading.why}.` })
    return refuseVia(served, incoming, refusal, {}, via)
  }
  if (reading.kind === 'refused') return turnAway(served, incoming, reading, {}, via)
  if (before === served) return { kind: 'admitted', pass: undefined }
  const requestId = requestIdOf(reading)
  if (before) return refuseRival(served, incoming, requestId)
  if (!served.open) return turnAway(served, incoming, refuse('shutting_down'), { requestId }, via)
  if (reading.kind === 'proof') return redeem(served, { routeRuntime: served, incoming, proof: reading.proof })
  return settle(served, incoming, reading, via)
}

function requestIdOf(reading: Reading): string | undefined {
  if (reading.kind === 'proof') return reading.proof.requestId
  if (reading.kind === 'credential') return reading.credential.requestId
  return reading.kind === 'signature' ? reading.requestId : undefined
}

/** The response to a request without a proof, or with a payment that was refused for good: usually the price. */
function challenge(
  served: ServedRoute,
  incoming: Incoming,
  refused?: RefusedPayment,
): RequestOutcome | Promise<RequestOutcome> {
  const { route, free } = served
  const { method, target } = incoming
  if (findAdmitting(incoming.request) === served) return { kind: 'admitted', pass: undefined }
  // A ticket of the checkout has admitted the request.
  if (paymentOf(incoming.request)) return refuseRival(served, incoming)
  if (!free) return askToPay(served, incoming, refused)
  const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), route.config.trustProxy)
  const decide = (isFree: boolean): RequestOutcome | Promise<RequestOutcome> => {
    if (!isFree) return askToPay(served, incoming, refused)
    markAdmitted(incoming.request, served)
    emit(served, { kind: 'free', method, target })
    countUsage(served, incoming, 'free')
    return { kind: 'admitted', pass: undefined }
  }
  const isFree = free.admit(address)
  return isFree instanceof Promise ? isFree.then(decide) : decide(isFree)
}

/** The checkout page for people, or the price. */
function askToPay(
  served: ServedRoute,
  incoming: Incoming,
  refused?: RefusedPayment,
): RequestOutcome | Promise<RequestOutcome> {
  const { visits } = served
  if (!visits || !isForPeople(incoming)) return quote(served, incoming, refused)
  return visits
    .mayEnter(incoming)
    .then((may) => (may ? receive(served, visits, incoming) : quote(served, incoming, refused)))
}

/** The price for programs. */
function quote(served: ServedRoute, incoming: Incoming, refused?: RefusedPayment): Answer | Promise<Answer> {
  const { runtime, route, probe, dialects } = served
  const { target } = incoming
  // Paid requests are served even while nothing can be sold.
  const state = probe.state()
  if (state !== 'good') return dialects.refusal(state === 'bad' ? misconfigured : notStarted)
  const answer = (quoted: Quoted | Refusal): Answer => {
    if (quoted.kind === 'refused') return dialects.refusal(quoted)
    countChallenge(served, incoming, quoted)
    return quoted.answer
  }
  const fail = (error: unknown): Answer => {
    runtime.log.error('price.failed', { target, why: error instanceof Error ? error.message : String(error) })
    return dialects.refusal(misconfigured)
  }
  try {
    const quoted = route.quote(incoming, refused)
    return quoted instanceof Promise ? quoted.then(answer).catch(fail) : answer(quoted)
  } catch (error) {
    return fail(error)
  }
}

function countChallenge(routeRuntime: RouteRuntime, incoming: Incoming, quoted: Quoted): void {
  const { runtime, route, listener } = routeRuntime
  runtime.usage.count(quoted.endpoint, 'challenged')
  // Usually there is no listener, and every unpaid request passes here.
  if (!listener) return
  const { method, target } = incoming
  const { requestId, price: amount } = quoted
  const { token } = route.config.pricing
  emit(routeRuntime, { kind: 'challenged', method, target, requestId, amount, token })
}

/** A visitor in a browser: served for a payment that was made there, or shown the checkout page. */
async function receive(served: ServedRoute, visits: CheckoutVisitors, incoming: Incoming): Promise<RequestOutcome> {
  const { runtime, route, probe, dialects } = served
  try {
    const found = await visits.find(incoming)
    const paid = found.find(({ proof }) => proof)
    if (paid?.proof && !isShownOnPage(served, incoming)) {
      if (!served.open) return turnAway(served, incoming, refuse('shutting_down'), paid.ticket)
      const entry = await redeem(served, { routeRuntime: served, incoming, proof: paid.proof })
      if (entry.kind === 'admitted') return entry
      // The page shows any other problem, and keeps asking.
      if (entry.status >= 500) return entry
    }
    const state = probe.state()
    if (state !== 'good' && found.length === 0) return dialects.refusal(state === 'bad' ? misconfigured : notStarted)
    // A valid quote is not shown either, because a payment now may seem late.
    if (route.whyClosed() !== undefined && !found.some(({ status }) => status.state.state === 'confirming'))
      return dialects.refusal(clockWrong)
    const page = await visits.page(incoming, found)
    if (page.kind === 'refused') return dialects.refusal(page)
    if (page.quoted) countChallenge(served, incoming, page.quoted)
    return page.answer
  } catch (error) {
    if (error instanceof LedgerUnavailable) return dialects.refusal(refuse('ledger_unavailable'))
    const why = error instanceof Error ? error.message : String(error)
    runtime.log.error('price.failed', { target: incoming.target, why })
    return dialects.refusal(misconfigured)
  }
}

/** Sells nothing and uses no payment. An open page may still ask for the state of its payment. */
function enterPaused(routeRuntime: RouteRuntime, incoming: Incoming): Answer | undefined {
  const { dialects } = routeRuntime
  const read = dialects.read(incoming)
  if (read) return turnAway(routeRuntime, incoming, unavailable, { requestId: requestIdOf(read.reading) }, read.via)
  const order = incoming.header('payment-checkout')
  if (order === undefined) return dialects.refusal(notSold)
  return isQuestion(order) ? undefined : dialects.refusal(unavailable)
}

function isQuestion(header: string): boolean {
  const order = parseOrder(header)
  return order?.kind === 'status' || order?.kind === 'view' || order?.kind === 'receipt'
}

/** The desk of a route for `/pay`. While the route is paused, it accepts no payment. */
export function createPayDesk(routeRuntime: RouteRuntime, visits: CheckoutVisitors): PayDesk {
  return {
    ...visits,
    draft: async (...order) => (routeRuntime.paused === undefined ? visits.draft(...order) : unavailable),
    answer: async (header, incoming) =>
      routeRuntime.paused === undefined || isQuestion(header) ? visits.answer(header, incoming) : unavailable,
  }
}

/** A payment for another paywall must not be used up by this one. */
function refuseRival(routeRuntime: RouteRuntime, incoming: Incoming, requestId?: string): Answer {
  routeRuntime.runtime.log.error('paywall.nested', {
    target: incoming.target,
    why: 'one payment opens only one of them; mount one paywall per resource',
  })
  return turnAway(routeRuntime, incoming, refuse('handler_failed'), { requestId })
}

/** Takes a grant for a proof, and opens its delivery. `recent` is an admission of the same proof and request. */
function redeem(served: ServedRoute, claim: Claim, recent?: RecentAdmission): Promise<RequestOutcome> {
  const { running, admissions } = served
  const { routeRuntime, incoming, proof } = claim
  const done = running.begin()
  return (recent ? admitAgain(served, claim, recent.admission) : admit(claim))
    .then((admission): RequestOutcome => {
      if (admission.kind === 'refused') return turnAway(routeRuntime, incoming, admission, proof)
      if (recent) return deliver(claim, admission, recent.receipts)
      admissions?.keep(incoming, proof, admission)
      return deliver(claim, admission)
    })
    .finally(done)
}

/** Admits a repeated request: from the slice of its bundle, or by a grant of its own. */
async function admitAgain({ slices, runtime }: ServedRoute, claim: Claim, earlier: Admission) {
  try {
    const drawn = await slices?.take(claim, earlier)
    if (drawn) return drawn
  } catch (error) {
    // The decision meets the same outage, and reports it.
    runtime.log.warn('slice.take_failed', { why: String(error) })
  }
  return admit(claim, earlier)
}

function deliver(claim: Claim, admission: SlicedAdmission, receipts?: ReceiptCache): Admitted {
  const pass = openDelivery(claim, admission, receipts)
  markAdmitted(claim.incoming.request, claim.routeRuntime, pass.facts)
  return { kind: 'admitted', pass }
}

/** Settles a payment that came in another protocol, and serves it like a proof. */
async function settle(
  served: ServedRoute,
  incoming: Incoming,
  reading: Exclude<Reading, { kind: 'proof' | 'malformed' | 'refused' }>,
  via: ForeignDialect | undefined,
): Promise<RequestOutcome> {
  const done = served.running.begin()
  try {
    const outcome = await settlePayment({ routeRuntime: served, incoming, via }, reading)
    if (outcome.kind === 'settled') return deliver(outcome.claim, outcome.admission)
    return await refuseVia(served, incoming, outcome.refusal, outcome.facts, via)
  } finally {
    done()
  }
}

/** Refuses a request in another protocol. If nothing of it can land, the client gets a fresh challenge. */
function refuseVia(
  served: ServedRoute,
  incoming: Incoming,
  refusal: Refusal,
  facts: RefusalFacts,
  via: ForeignDialect | undefined,
): RequestOutcome | Promise<RequestOutcome> {
  if (!via?.isFresh(refusal)) return turnAway(served, incoming, refusal, facts, via)
  countRefusal(served, incoming, refusal, facts)
  return challenge(served, incoming, { refusal, type: via.refusal(refusal, facts).type })
}

function countRefusal(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  refusal: Refusal,
  { payer }: Pick<RefusalFacts, 'payer'>,
): void {
  const { method, target } = incoming
  const { meter, refusals, pseudonyms } = routeRuntime.runtime
  meter.count('paystile_proofs_total', { outcome: refusal.code })
  const wallet = payer === undefined ? undefined : decodeAddress(payer)
  const endpoint = nameEndpoint(routeRuntime.route.config.endpoint, incoming)
  refusals.note(refusal.code, endpoint, wallet ? pseudonyms.wallet(wallet) : '')
  countUsage(routeRuntime, incoming, 'refused')
  emit(routeRuntime, { kind: 'refused', method, target, code: refusal.code })
}

function turnAway(
  routeRuntime: RouteRuntime,
  incoming: Incoming,
  refusal: Refusal,
  { requestId, tx, payer }: RefusalFacts = {},
  via?: ForeignDialect,
): Answer {
  countRefusal(routeRuntime, incoming, refusal, { payer })
  const facts = via ? { requestId, tx, payer } : { requestId }
  return routeRuntime.dialects.refusal(refusal, facts, via)
}

/** Handles a request of the checkout page's script. */
async function attend(
  served: ServedRoute,
  visits: CheckoutVisitors,
  order: string,
  incoming: Incoming,
): Promise<RequestOutcome> {
  const { runtime, dialects } = served
  try {
    const parsed = parseOrder(order)
    if (parsed?.kind === 'open') return await openForPage(served, visits, parsed.requestId, incoming)
    const answer = await visits.attend(order, incoming)
    return answer.kind === 'answer' ? answer : dialects.refusal(answer)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) runtime.log.error('checkout.failed', { why: String(error) })
    return dialects.refusal(refuse(error instanceof LedgerUnavailable ? 'ledger_unavailable' : 'chain_unavailable'))
  }
}

/** Serves the resource to the page's script, which shows JSON to people. The ticket is the proof, as for a visit. */
async function openForPage(
  served: ServedRoute,
  visits: CheckoutVisitors,
  requestId: string,
  incoming: Incoming,
): Promise<RequestOutcome> {
  const { dialects } = served
  const before = findAdmitting(incoming.request)
  if (before === served) return { kind: 'admitted', pass: undefined }
  if (before) return refuseRival(served, incoming, requestId)
  if (!(await visits.mayEnter(incoming))) return dialects.refusal(refuse('rate_limited'))
  const proof = (await visits.find(incoming)).find(({ ticket }) => ticket.requestId === requestId)?.proof
  if (!proof) return dialects.refusal(refuse('claim_required'), { requestId })
  if (!served.open) return turnAway(served, incoming, refuse('shutting_down'), { requestId })
  return redeem(served, { routeRuntime: served, incoming, proof, isForPage: true })
}

/**
 * Whether a person who comes back gets the page, which shows the JSON in readable form. A link of the page itself, and a
 * browser that does not tell its way, get the resource. Only that link sends the page's address.
 */
function isShownOnPage({ types, route }: ServedRoute, incoming: Incoming): boolean {
  const site = incoming.header('sec-fetch-site')
  if (site === undefined || route.whyClosed() !== undefined) return false
  // A proxy can have taken the beginning of the path away.
  if (site === 'same-origin' && incoming.header('referer')?.endsWith(incoming.target)) return false
  return types.isJson(incoming.target) === true
}
