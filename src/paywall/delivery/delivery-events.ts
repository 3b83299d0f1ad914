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
  readonly claim: Claim
  readonly admission: Admission
  /** What was said of it before, to be said again. */
  readonly receipts: ReceiptCache
}

export function emit({ listener }: Gate, { log }: Runtime, event: PaywallEvent): void {
  if (listener) emitTo(listener, event, log)
}

export function countUsage({ usage }: Runtime, { config }: Route, incoming: Incoming, event: UsageEvent): void {
  usage.count(nameEndpoint(config.endpoint, incoming), event)
}

/** What was received, for people. */
function amountOf({ claim, admission, receipts }: PaidDelivery): string {
  receipts.amount ??= formatUnits(admission.received, findDecimals(admission.token, claim.route.config.mints) ?? 0)
  return receipts.amount
}

export function emitVerified(paidDelivery: PaidDelivery): void {
  const { gate, claim, admission } = paidDelivery
  const { runtime, incoming, proof } = claim
  runtime.countAdmitted()
  runtime.changes.note(proof.tx)
  if (!gate.listener) return
  const { method, target } = incoming
  const { token, payer, first } = admission
  emit(gate, runtime, {
    kind: 'verified',
    method,
    target,
    tx: proof.tx,
    amount: amountOf(paidDelivery),
    token,
    payer,
    first,
  })
}

/** Counts the end of a response and tells it. */
export function emitEnded({ gate, claim, admission, receipts }: PaidDelivery, consequence: Consequence): void {
  const { runtime, route, incoming, proof } = claim
  if (gate.listener) emit(gate, runtime, { kind: 'ended', target: incoming.target, tx: proof.tx, consequence })
  receipts.endpoint ??= nameEndpoint(route.config.endpoint, incoming)
  const isDelivered = consequence === 'settle'
  runtime.usage.count(receipts.endpoint, isDelivered ? 'delivered' : 'undelivered')
  // What is bought for one request, or is one file, is delivered once, however many attempts that takes.
  if (isDelivered && !admission.first && isShared(admission.allowance)) runtime.usage.count(receipts.endpoint, 'reused')
}

export function readFacts(paidDelivery: PaidDelivery): PaymentFacts {
  const { claim, admission, receipts } = paidDelivery
  if (receipts.facts) return receipts.facts
  const { tx, requestId } = claim.proof
  const { payer, token, allowance } = admission
  const request = claim.runtime.pseudonyms.request(requestId)
  const isOnce = isOneRequest(allowance)
  receipts.facts = { tx, request, payer, token, amount: amountOf(paidDelivery), unit: allowance.unit, isOnce }
  return receipts.facts
}

/** The headers of a paid answer with this status. */
export function formatHeaders(paidDelivery: PaidDelivery, status: number): HeaderPairs {
  const headers = paidPairs(paidDelivery, status)
  return isCrossOrigin(paidDelivery.claim) ? [...corsPairs, ...headers] : headers
}

function paidPairs(paidDelivery: PaidDelivery, status: number): HeaderPairs {
  const { claim, admission, receipts } = paidDelivery
  const isGood = status < 400
  if (isGood && receipts.headers) return receipts.headers
  const headers = Object.entries(paidHeaders(status, claim, admission, amountOf(paidDelivery)))
  if (isGood) receipts.headers = headers
  return headers
}

const corsPairs: HeaderPairs = Object.entries(corsHeaders)

export function isCrossOrigin({ route, incoming }: Claim): boolean {
  return route.config.cors && incoming.header('origin') !== undefined
}
