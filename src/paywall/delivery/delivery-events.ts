/** What a request was let in for, and what is told, said and counted of it. */
import type { Incoming } from '../../core/encoding/http.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findDecimals } from '../../core/money/tokens.ts'
import { isOneRequest, isShared } from '../../core/payment/allowance.ts'
import type { Consequence } from '../../core/payment/delivery.ts'
import type { UsageEvent } from '../../core/ports/reports.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { Admission } from '../claim/admit.ts'
import type { Claim } from '../claim/verify-on-chain.ts'
import { nameEndpoint } from '../config/endpoint.ts'
import type { PaywallEvent } from '../config/events.ts'
import { corsHeaders } from '../quote/cors.ts'
import type { Route } from '../quote/route.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { emitTo } from '../runtime/runtime.ts'
import { paidHeaders } from './paid-headers.ts'
import type { HeaderPairs, PaymentFacts } from './pass.ts'
import type { ReceiptCache } from './window-cache.ts'

export interface Gate {
  readonly dialect: Dialect
  readonly listener: ((event: PaywallEvent) => unknown) | undefined
  /** What closing waits for, proofs that are looked at and responses up to their end in the ledger, and how to break it off. */
  readonly running: InFlight
  open: boolean
  /** Why nothing is sold at this moment, for the operator; undefined while it is. */
  paused: string | undefined
}

export interface PaidDelivery {
  readonly gate: Gate
  readonly visit: Claim
  readonly admission: Admission
  /** What was said of it before, to be said again. */
  readonly said: ReceiptCache
}

export function emit({ listener }: Gate, { log }: Runtime, event: PaywallEvent): void {
  if (listener) emitTo(listener, event, log)
}

export function countUsage({ usage }: Runtime, { config }: Route, incoming: Incoming, event: UsageEvent): void {
  usage.count(nameEndpoint(config.endpoint, incoming), event)
}

/** What was received, for people. */
function amountOf({ visit, admission, said }: PaidDelivery): string {
  said.amount ??= formatUnits(admission.received, findDecimals(admission.token, visit.route.config.mints) ?? 0)
  return said.amount
}

export function emitVerified(sale: PaidDelivery): void {
  const { gate, visit, admission } = sale
  const { service, incoming, proof } = visit
  service.countAdmitted()
  service.changes.note(proof.tx)
  if (!gate.listener) return
  const { method, target } = incoming
  const { token, payer, first } = admission
  emit(gate, service, { kind: 'verified', method, target, tx: proof.tx, amount: amountOf(sale), token, payer, first })
}

/** Counts the end of a response and tells it. */
export function emitEnded({ gate, visit, admission, said }: PaidDelivery, consequence: Consequence): void {
  const { service, route, incoming, proof } = visit
  if (gate.listener) emit(gate, service, { kind: 'ended', target: incoming.target, tx: proof.tx, consequence })
  said.endpoint ??= nameEndpoint(route.config.endpoint, incoming)
  const isDelivered = consequence === 'settle'
  service.usage.count(said.endpoint, isDelivered ? 'delivered' : 'undelivered')
  // What is bought for one request, or is one file, is delivered once, however many attempts that takes.
  if (isDelivered && !admission.first && isShared(admission.allowance)) service.usage.count(said.endpoint, 'reused')
}

export function readFacts(sale: PaidDelivery): PaymentFacts {
  const { visit, admission, said } = sale
  if (said.facts) return said.facts
  const { tx, requestId } = visit.proof
  const { payer, token, allowance } = admission
  const request = visit.service.pseudonyms.request(requestId)
  const isOnce = isOneRequest(allowance)
  said.facts = { tx, request, payer, token, amount: amountOf(sale), unit: allowance.unit, isOnce }
  return said.facts
}

/** The headers of a paid answer with this status. */
export function formatHeaders(sale: PaidDelivery, status: number): HeaderPairs {
  const headers = paidPairs(sale, status)
  return isCrossOrigin(sale.visit) ? [...corsPairs, ...headers] : headers
}

function paidPairs(sale: PaidDelivery, status: number): HeaderPairs {
  const { visit, admission, said } = sale
  const isGood = status < 400
  if (isGood && said.headers) return said.headers
  const headers = Object.entries(paidHeaders(status, visit, admission, amountOf(sale)))
  if (isGood) said.headers = headers
  return headers
}

const corsPairs: HeaderPairs = Object.entries(corsHeaders)

export function isCrossOrigin({ route, incoming }: Claim): boolean {
  return route.config.cors && incoming.header('origin') !== undefined
}
