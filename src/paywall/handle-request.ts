/**
 * A request at a route: without a proof it is told the price, or shown the page on which people pay; with one, its payment
 * is looked at.
 */
import { parseOrder } from '../core/checkout/messages.ts'
import { readClientAddress } from '../core/encoding/client-address.ts'
import type { Answer, Incoming } from '../core/encoding/http.ts'
import type { Refusal } from '../core/payment/refusals.ts'
import { refuse } from '../core/payment/refusals.ts'
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import type { CheckoutVisitors } from './checkout/visitor.ts'
import { isForPeople } from './checkout/visitor.ts'
import { admit } from './claim/admit.ts'
import type { Claim } from './claim/verify-on-chain.ts'
import type { Gate } from './delivery/delivery-events.ts'
import { countUsage, emit } from './delivery/delivery-events.ts'
import { findGate, markAdmitted, openPassFor, paymentOf } from './delivery/open-pass.ts'
import type { Pass } from './delivery/pass.ts'
import type { OpenWindows } from './delivery/window-cache.ts'
import type { FreeCounter } from './quote/free-quota.ts'
import { clockWrong } from './quote/readiness-report.ts'
import type { Quoted, Route } from './quote/route.ts'
import type { Probe } from './quote/token-probe.ts'
import type { PayDesk } from './runtime/pay-desk.ts'
import type { Runtime } from './runtime/runtime.ts'

export interface Admitted {
  readonly kind: 'admitted'
  /** Undefined when the request was admitted here before, by the same paywall mounted twice. */
  readonly pass: Pass | undefined
}
export type RequestOutcome = Answer | Admitted

export const notStarted = refuse('chain_unavailable', { detail: 'The service has not started yet.' })
export const noLedger = refuse('ledger_unavailable', { detail: 'The service has not started yet.' })
const unavailable = refuse('resource_unavailable')
const misconfigured = refuse('not_priced', { detail: 'The service is not configured right; its log says how.' })

/** A route, and whether what it sells can be charged as configured. */
export interface RouteRuntime {
  readonly runtime: Runtime
  readonly route: Route
  readonly probe: Probe
  readonly free: FreeCounter | undefined
  readonly windows: OpenWindows
  /** People who pay in a browser. Undefined where there is no page for them. */
  readonly visits: CheckoutVisitors | undefined
}

/** What somebody without a proof is told: as a rule, the price. */
function challenge(
  gate: Gate,
  runtime: Runtime,
  routeRuntime: RouteRuntime,
  incoming: Incoming,
): RequestOutcome | Promise<RequestOutcome> {
  const { route, probe, free, visits } = routeRuntime
  const { method, target } = incoming
  const { config } = route
  if (findGate(incoming.request) === gate) return { kind: 'admitted', pass: undefined }
  // Let in by a ticket.
  if (paymentOf(incoming.request)) return rivals(gate, runtime, routeRuntime.route, incoming)
  if (free) {
    const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), config.trustProxy)
    if (free.admit(address)) {
      markAdmitted(incoming.request, gate)
      emit(gate, runtime, { kind: 'free', method, target })
      countUsage(runtime, route, incoming, 'free')
      return { kind: 'admitted', pass: undefined }
    }
  }
  if (visits && isForPeople(incoming) && visits.mayEnter(incoming))
    return receive(gate, runtime, routeRuntime, visits, incoming)
  // Who has paid already is served all the same.
  const state = probe.state()
  if (state !== 'good') return gate.dialect.refusal(state === 'bad' ? misconfigured : notStarted)
  const answer = (quoted: Quoted | Refusal): Answer => {
    if (quoted.kind === 'refused') return gate.dialect.refusal(quoted)
    countChallenge(gate, runtime, route, incoming, quoted)
    return quoted.answer
  }
  const fail = (error: unknown): Answer => {
    runtime.log.error('not priced', { target, why: error instanceof Error ? error.message : String(error) })
    return gate.dialect.refusal(misconfigured)
  }
  try {
    const quoted = route.quote(incoming)
    return quoted instanceof Promise ? quoted.then(answer).catch(fail) : answer(quoted)
  } catch (error) {
    return fail(error)
  }
}

function countChallenge(gate: Gate, runtime: Runtime, { config }: Route, incoming: Incoming, quoted: Quoted): void {
  runtime.usage.count(quoted.endpoint, 'challenged')
  // Nobody listening is the usual case, and this is the path of every unpaid request.
  if (!gate.listener) return
  const { method, target } = incoming
  const { requestId, price: amount } = quoted
  emit(gate, runtime, { kind: 'challenged', method, target, requestId, amount, token: config.pricing.token })
}

/** Somebody in a browser: served for a payment that was made there, or shown the page. */
async function receive(
  gate: Gate,
  runtime: Runtime,
  routeRuntime: RouteRuntime,
  visits: CheckoutVisitors,
  incoming: Incoming,
): Promise<RequestOutcome> {
  try {
    const found = await visits.find(incoming)
    const paid = found.find(({ proof }) => proof)
    if (paid?.proof) {
      if (!gate.open)
        return turnAwayFrom(gate, runtime, routeRuntime.route, incoming, refuse('shutting_down'), paid.ticket.requestId)
      const entry = await show(
        gate,
        { runtime, route: routeRuntime.route, incoming, proof: paid.proof },
        routeRuntime.windows,
      )
      if (entry.kind === 'admitted') return entry
      // Whatever is in the way of it, the page tells, and goes on asking.
      if (entry.status >= 500) return entry
    }
    const state = routeRuntime.probe.state()
    if (state !== 'good' && found.length === 0)
      return gate.dialect.refusal(state === 'bad' ? misconfigured : notStarted)
    // A price that stands is not shown either: what is paid now may look late.
    if (
      routeRuntime.route.whyClosed() !== undefined &&
      !found.some(({ standing }) => standing.state.state === 'confirming')
    )
      return gate.dialect.refusal(clockWrong)
    const page = await visits.page(incoming, found)
    if (page.kind === 'refused') return gate.dialect.refusal(page)
    if (page.quoted) countChallenge(gate, runtime, routeRuntime.route, incoming, page.quoted)
    return page.answer
  } catch (error) {
    if (error instanceof LedgerUnavailable) return gate.dialect.refusal(refuse('ledger_unavailable'))
    runtime.log.error('not priced', {
      target: incoming.target,
      why: error instanceof Error ? error.message : String(error),
    })
    return gate.dialect.refusal(misconfigured)
  }
}

export function enterRoute(
  gate: Gate,
  runtime: Runtime,
  routeRuntime: RouteRuntime,
  incoming: Incoming,
): RequestOutcome | Promise<RequestOutcome> {
  const { route, windows } = routeRuntime
  if (gate.paused !== undefined && findGate(incoming.request) !== gate) {
    const paused = enterPaused(gate, runtime, routeRuntime, incoming)
    if (paused) return paused
  }
  const window = gate.open && !findGate(incoming.request) ? windows.find(incoming) : undefined
  if (window) {
    const claim: Claim = { runtime, route, incoming, proof: window.proof }
    return { kind: 'admitted', pass: openPassFor(gate, claim, window.admission, window.receipts) }
  }
  const reading = gate.dialect.readProof(incoming)
  if (reading === undefined) {
    const order = routeRuntime.visits && incoming.header('payment-checkout')
    if (routeRuntime.visits && order !== undefined) return attend(gate, runtime, routeRuntime.visits, order, incoming)
    return challenge(gate, runtime, routeRuntime, incoming)
  }
  const turnAway = (refusal: Refusal, requestId?: string): Answer =>
    turnAwayFrom(gate, runtime, route, incoming, refusal, requestId)
  if (reading.kind === 'malformed')
    return turnAway(refuse('proof_malformed', { detail: `The header cannot be read: ${reading.why}.` }))
  const { proof } = reading
  const before = findGate(incoming.request)
  if (before === gate) return { kind: 'admitted', pass: undefined }
  if (before) return rivals(gate, runtime, route, incoming, proof.requestId)
  if (!gate.open) return turnAway(refuse('shutting_down'), proof.requestId)
  return show(gate, { runtime, route, incoming, proof }, windows)
}

/** Nothing is sold, and no payment is used up. A page that is open may still ask what became of its payment. */
function enterPaused(gate: Gate, runtime: Runtime, { route }: RouteRuntime, incoming: Incoming): Answer | undefined {
  const reading = gate.dialect.readProof(incoming)
  const requestId = reading?.kind === 'proof' ? reading.proof.requestId : undefined
  if (reading) return turnAwayFrom(gate, runtime, route, incoming, unavailable, requestId)
  const order = incoming.header('payment-checkout')
  return order !== undefined && isQuestion(order) ? undefined : gate.dialect.refusal(unavailable)
}

function isQuestion(header: string): boolean {
  const order = parseOrder(header)
  return order?.kind === 'status' || order?.kind === 'view'
}

/** The desk of a route for `/pay`: while the route is paused, nothing can be paid there either. */
export function createPayDesk(gate: Gate, visits: CheckoutVisitors): PayDesk {
  return {
    ...visits,
    draft: async (...order) => (gate.paused === undefined ? visits.draft(...order) : unavailable),
    answer: async (header, incoming) =>
      gate.paused === undefined || isQuestion(header) ? visits.answer(header, incoming) : unavailable,
  }
}

/** What another paywall was paid for must not be used up by the price of this one. */
function rivals(gate: Gate, runtime: Runtime, route: Route, incoming: Incoming, requestId?: string): Answer {
  const { target } = incoming
  runtime.log.error('two paywalls before one resource', {
    target,
    why: 'one payment opens one of them; mount only one',
  })
  return turnAwayFrom(gate, runtime, route, incoming, refuse('handler_failed'), requestId)
}

/** What a proof comes to. */
function show(gate: Gate, claim: Claim, windows: OpenWindows): Promise<RequestOutcome> {
  const { runtime, route, incoming, proof } = claim
  const done = gate.running.begin()
  return admit(claim)
    .then((admission): RequestOutcome => {
      if (admission.kind === 'refused') return turnAwayFrom(gate, runtime, route, incoming, admission, proof.requestId)
      windows.keep(incoming, proof, admission)
      return { kind: 'admitted', pass: openPassFor(gate, claim, admission) }
    })
    .finally(done)
}

function turnAwayFrom(
  gate: Gate,
  runtime: Runtime,
  route: Route,
  incoming: Incoming,
  refusal: Refusal,
  requestId?: string,
): Answer {
  const { method, target } = incoming
  runtime.meter.count('paystile_proofs_total', { outcome: refusal.code })
  countUsage(runtime, route, incoming, 'refused')
  emit(gate, runtime, { kind: 'refused', method, target, code: refusal.code })
  return gate.dialect.refusal(refusal, requestId)
}

/** The script of the checkout page asks something. */
async function attend(
  gate: Gate,
  { log }: Runtime,
  visits: CheckoutVisitors,
  order: string,
  incoming: Incoming,
): Promise<Answer> {
  try {
    const answer = await visits.attend(order, incoming)
    return answer.kind === 'answer' ? answer : gate.dialect.refusal(answer)
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) log.error('checkout failed', { why: String(error) })
    return gate.dialect.refusal(refuse(error instanceof LedgerUnavailable ? 'ledger_unavailable' : 'chain_unavailable'))
  }
}
