/** From an admission to the pass of a response, and what is told and counted on the way. */
import { isOneRequest, isShared } from '../core/allowance.ts'
import { refuse } from '../core/errors.ts'
import type { Incoming } from '../core/http.ts'
import { formatUnits } from '../core/money.ts'
import { decimalsOf } from '../core/network.ts'
import type { UsageEvent } from '../core/ports.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Admission } from './admit.ts'
import { corsHeaders } from './cors.ts'
import { endpointOf } from './endpoint.ts'
import type { PaywallEvent } from './events.ts'
import { paidHeaders } from './paid-headers.ts'
import type { Pass, PaymentFacts } from './pass.ts'
import { openPass } from './pass.ts'
import type { Case } from './reading.ts'
import type { Route } from './route.ts'
import type { Running } from './running.ts'
import type { Service } from './service.ts'
import { tellOne } from './service.ts'
import type { OpenWindow } from './windows.ts'

export interface Gate {
  readonly dialect: Dialect
  readonly listener: ((event: PaywallEvent) => unknown) | undefined
  /** What closing waits for, proofs that are looked at and responses up to their end in the ledger, and how to break it off. */
  readonly running: Running
  open: boolean
}

export function tell({ listener }: Gate, { log }: Service, event: PaywallEvent): void {
  if (listener) tellOne(listener, event, log)
}

export function use({ usage }: Service, { config }: Route, incoming: Incoming, event: UsageEvent): void {
  usage.count(endpointOf(config.endpoint, incoming), event)
}

/** Which paywall let a request in: the same one mounted twice must not take the payment for a rival's. */
export const admitted = new WeakMap<object, Gate>()
/**
 * On the request itself: what stands in a WeakMap is kept by V8's small collections, and here it would keep the request,
 * too, until the next large one.
 */
const payment = Symbol('paystile.payment')

/**
 * The payment behind a request that a paywall has let in, for its handler; undefined where there is none.
 *
 * @example
 * app.get('/report', paid, (request, response) => response.json({ thanks: paymentOf(request)?.amount }))
 */
export function paymentOf(request: object): PaymentFacts | undefined {
  const facts: unknown = Reflect.get(request, payment)
  return typeof facts === 'function' ? (facts as () => PaymentFacts)() : undefined
}

export function passFor(gate: Gate, visit: Case, admission: Admission, window?: OpenWindow): Pass {
  const { service, route, incoming, proof } = visit
  const { method, target } = incoming
  const { token, received, payer, first } = admission
  admitted.set(incoming.request, gate)
  service.meter.count('paystile_proofs_total', { outcome: 'admitted' })
  const amount = window?.amount ?? formatUnits(received, decimalsOf(token, route.config.mints) ?? 0)
  if (window) window.amount = amount
  if (gate.listener)
    tell(gate, service, { kind: 'verified', method, target, tx: proof.tx, amount, token, payer, first })
  service.changes.note(proof.tx)
  const finished = gate.running.begin(() => pass.lose('the service is stopping'))
  const cors = route.config.cors && incoming.header('origin') !== undefined ? corsHeaders : undefined

  const pass = openPass({
    admission,
    method,
    envelope: route.config.envelope,
    ledger: service.ledger,
    clock: service.clock,
    log: service.log,
    leaseMs: route.config.leaseMs,
    facts: () => {
      if (window?.facts) return window.facts
      const { unit } = admission.allowance
      const request = service.pseudonyms.request(proof.requestId)
      const facts = { tx: proof.tx, request, payer, token, amount, unit, isOnce: isOneRequest(admission.allowance) }
      if (window) window.facts = facts
      return facts
    },
    mismatch: () => {
      const answer = gate.dialect.refusal(refuse('range_mismatch'), proof.requestId)
      return { ...answer, headers: { ...answer.headers, ...cors } }
    },
    headersFor: (status) => {
      if (!window || status >= 400) return { ...cors, ...paidHeaders(status, visit, admission, amount) }
      window.headers ??= paidHeaders(status, visit, admission, amount)
      return cors ? { ...cors, ...window.headers } : window.headers
    },
    onEnd: (consequence, recorded) => {
      if (gate.listener) tell(gate, service, { kind: 'ended', target, tx: proof.tx, consequence })
      const isDelivered = consequence === 'settle'
      use(service, route, incoming, isDelivered ? 'delivered' : 'undelivered')
      // What is bought for one request, or is one file, is delivered once, however many attempts that takes.
      if (isDelivered && !first && isShared(admission.allowance)) use(service, route, incoming, 'reused')
      // Nothing was held, so nothing is written down.
      if (!admission.grant) return finished()
      service.ending.set(proof.tx, recorded)
      void recorded.finally(() => {
        if (service.ending.get(proof.tx) === recorded) service.ending.delete(proof.tx)
        service.changes.note(proof.tx)
        finished()
      })
    },
  })
  Reflect.set(incoming.request, payment, pass.facts)
  return pass
}
