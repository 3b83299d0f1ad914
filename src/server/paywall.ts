/**
 * The paywall: the one place where it is decided whether a request pays, has paid, or is turned away. Frameworks only
 * translate to and from it.
 */

import { isOneRequest, isShared } from '../core/allowance.ts'
import { encodeBase58 } from '../core/base58.ts'
import { readClientAddress } from '../core/client-address.ts'
import type { Refusal } from '../core/errors.ts'
import { refuse } from '../core/errors.ts'
import type { Answer, Incoming } from '../core/http.ts'
import { createMeter } from '../core/metrics.ts'
import { formatUnits } from '../core/money.ts'
import { decimalsOf } from '../core/network.ts'
import type { Log, UsageEvent } from '../core/ports.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { native } from '../dialects/native.ts'
import type { Admission } from './admit.ts'
import { admit } from './admit.ts'
import { entryOf } from './catalog.ts'
import type { Config } from './config.ts'
import { answerPreflight, corsHeaders, isPreflight } from './cors.ts'
import { endpointOf } from './endpoint.ts'
import type { PaywallEvent } from './events.ts'
import type { FreeCounter } from './free.ts'
import { createFreeCounter } from './free.ts'
import { paidHeaders } from './paid-headers.ts'
import type { Pass } from './pass.ts'
import { openPass } from './pass.ts'
import type { Probe } from './probe.ts'
import { startProbe } from './probe.ts'
import { readinessOf, reportOn } from './readiness.ts'
import type { Case } from './reading.ts'
import type { Quoted, Route } from './route.ts'
import { createRoute } from './route.ts'
import type { Running } from './running.ts'
import { createRunning } from './running.ts'
import type { Readiness, ReadinessReport } from './selling.ts'
import type { Service } from './service.ts'
import { tellOne } from './service.ts'
import { watchRoute } from './sightings.ts'
import type { OpenWindow, OpenWindows } from './windows.ts'
import { createOpenWindows } from './windows.ts'

export interface Admitted {
  readonly kind: 'admitted'
  /** Undefined when the request was admitted here before, by the same paywall mounted twice. */
  readonly pass: Pass | undefined
}
export type Entry = Answer | Admitted

export interface Paywall {
  /** Synchronous for an unpaid request, once the service is up. */
  enter(incoming: Incoming): Entry | Promise<Entry>
  /** The answer for a handler that failed before it had sent anything, or (504) did not answer in time. */
  handlerFailed(error: unknown, status?: 502 | 504): Answer
  /** Resolves when the service is up and sells for some token; rejects with the reason why not. */
  ready(): Promise<Readiness>
  /** The same for health checks: never rejects. */
  readiness(): Promise<ReadinessReport>
  /** Turns new proofs away, waits for running responses, and lets go of ledger and nodes. */
  close(): Promise<void>
  /** What was counted so far, in Prometheus's text format. */
  metrics(): Promise<string>
  /** The public key under the service's receipts, base58. */
  identity(): Promise<string>
}

/** A service that may still be starting. */
export interface ServiceHandle {
  /** The service, or a promise of it while it starts. A start that failed is tried again by the first call a second later. */
  get(): Service | Promise<Service>
  release(): Promise<void>
}

/** How long a running response may hold up the end of the process; then it is broken off and given back. */
const drainMs = 30_000
/** How long writing that down may take. */
const giveBackMs = 1_000

export function createPaywall(config: Config, handle: ServiceHandle, log: Log): Paywall {
  const dialect = native
  const running = createRunning()
  const gate: Gate = { dialect, listener: config.onEvent, running, open: true }
  let stand: Stand | undefined
  let deafen: () => void = () => {}
  let delist: () => void = () => {}

  const standIn = (service: Service): Stand => {
    if (!stand) {
      const { free } = config.route
      const probe = startProbe(service, config.route)
      const route = createRoute(service, config.route, dialect, probe)
      const windows = createOpenWindows(service.clock, config.route)
      stand = { route, probe, free: free && createFreeCounter(free, service.clock), windows }
      const forget = service.listen(({ kind }) => {
        if (kind === 'reverted') windows.clear()
      })
      const silence = gate.listener ? service.listen(gate.listener) : () => {}
      deafen = () => {
        forget()
        silence()
      }
      const opened = stand
      delist = service.catalog.add(entryOf(config.route), () => reportOn(async () => opened))
      watchRoute(service, config.route).catch((error) => log.error('not watching', { why: String(error) }))
    }
    // Closed before it had started: nobody is left to ask for.
    if (!gate.open) stand.probe.stop()
    return stand
  }
  const visit = (service: Service, incoming: Incoming): Entry | Promise<Entry> => {
    return enterRoute(gate, service, standIn(service), incoming)
  }
  const withCors = (entry: Entry, incoming: Incoming): Entry => {
    if (entry.kind !== 'answer' || !config.route.cors || incoming.header('origin') === undefined) return entry
    return { ...entry, headers: { ...entry.headers, ...corsHeaders } }
  }

  // Known to the others before its first visitor, so that they can tell its requestIds from those of nobody.
  Promise.resolve(handle.get())
    .then(standIn)
    .catch(() => {})

  return {
    enter: (incoming) => {
      if (config.route.cors && isPreflight(incoming)) return answerPreflight(incoming)
      const service = handle.get()
      if (!(service instanceof Promise)) {
        const entry = visit(service, incoming)
        return entry instanceof Promise ? entry.then((done) => withCors(done, incoming)) : withCors(entry, incoming)
      }
      return service.then(
        async (started) => withCors(await visit(started, incoming), incoming),
        (error) => withCors(dialect.refusal(error instanceof LedgerUnavailable ? noLedger : notStarted), incoming),
      )
    },
    handlerFailed: (error, status = 502) => {
      log.error('handler failed', { why: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      return dialect.refusal(refuse('handler_failed', { status }))
    },
    ready: async () => readinessOf(standIn(await handle.get())),
    readiness: () => reportOn(async () => standIn(await handle.get())),
    identity: async () => encodeBase58((await handle.get()).identity.publicKey),
    metrics: async () => {
      const service = await Promise.resolve(handle.get()).catch(() => undefined)
      return (service?.meter ?? createMeter()).format()
    },
    close: async () => {
      gate.open = false
      delist()
      stand?.probe.stop()
      await Promise.race([running.drained(), pause(drainMs)])
      running.breakOff()
      if (running.count() > 0) await Promise.race([running.drained(), pause(giveBackMs)])
      deafen()
      await handle.release()
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref?.())
}

const notStarted = refuse('chain_unavailable', { detail: 'The service has not started yet.' })
const noLedger = refuse('ledger_unavailable', { detail: 'The service has not started yet.' })
const misconfigured = refuse('not_priced', { detail: 'The service is not configured right; its log says how.' })

/** A route, and whether what it sells can be charged as configured. */
interface Stand {
  readonly route: Route
  readonly probe: Probe
  readonly free: FreeCounter | undefined
  readonly windows: OpenWindows
}

interface Gate {
  readonly dialect: Dialect
  readonly listener: ((event: PaywallEvent) => unknown) | undefined
  /** What closing waits for, proofs that are looked at and responses up to their end in the ledger, and how to break it off. */
  readonly running: Running
  open: boolean
}

function tell({ listener }: Gate, { log }: Service, event: PaywallEvent): void {
  if (listener) tellOne(listener, event, log)
}

function use({ usage }: Service, { config }: Route, incoming: Incoming, event: UsageEvent): void {
  usage.count(endpointOf(config.endpoint, incoming), event)
}

/** What somebody without a proof is told: as a rule, the price. */
function challenge(gate: Gate, service: Service, stand: Stand, incoming: Incoming): Entry | Promise<Entry> {
  const { route, probe, free } = stand
  const { method, target } = incoming
  const { config } = route
  if (admitted.get(incoming.request) === gate) return { kind: 'admitted', pass: undefined }
  if (free) {
    const address = readClientAddress(incoming.peer(), incoming.header('x-forwarded-for'), config.trustProxy)
    if (free.admit(address)) {
      admitted.set(incoming.request, gate)
      tell(gate, service, { kind: 'free', method, target })
      use(service, route, incoming, 'free')
      return { kind: 'admitted', pass: undefined }
    }
  }
  // Who has paid already is served all the same.
  const state = probe.state()
  if (state !== 'good') return gate.dialect.refusal(state === 'bad' ? misconfigured : notStarted)
  const answer = (quoted: Quoted | Refusal): Answer => {
    if (quoted.kind === 'refused') return gate.dialect.refusal(quoted)
    const { requestId, price: amount } = quoted
    service.usage.count(quoted.endpoint, 'challenged')
    // Nobody listening is the usual case, and this is the path of every unpaid request.
    if (gate.listener)
      tell(gate, service, { kind: 'challenged', method, target, requestId, amount, token: config.pricing.token })
    return quoted.answer
  }
  const fail = (error: unknown): Answer => {
    service.log.error('not priced', { target, why: error instanceof Error ? error.message : String(error) })
    return gate.dialect.refusal(misconfigured)
  }
  try {
    const quoted = route.quote(incoming)
    return quoted instanceof Promise ? quoted.then(answer).catch(fail) : answer(quoted)
  } catch (error) {
    return fail(error)
  }
}

function enterRoute(gate: Gate, service: Service, stand: Stand, incoming: Incoming): Entry | Promise<Entry> {
  const { route, windows } = stand
  const window = gate.open && !admitted.has(incoming.request) ? windows.find(incoming) : undefined
  if (window) {
    const visit: Case = { service, route, incoming, proof: window.proof }
    return { kind: 'admitted', pass: passFor(gate, visit, window.admission, window) }
  }
  const reading = gate.dialect.readProof(incoming)
  const { method, target } = incoming
  if (reading === undefined) return challenge(gate, service, stand, incoming)
  const turnAway = (refusal: Refusal, requestId?: string): Answer => {
    service.meter.count('paystile_proofs_total', { outcome: refusal.code })
    use(service, route, incoming, 'refused')
    tell(gate, service, { kind: 'refused', method, target, code: refusal.code })
    return gate.dialect.refusal(refusal, requestId)
  }
  if (reading.kind === 'malformed')
    return turnAway(refuse('proof_malformed', { detail: `The header cannot be read: ${reading.why}.` }))
  const { proof } = reading
  const before = admitted.get(incoming.request)
  if (before === gate) return { kind: 'admitted', pass: undefined }
  if (before) {
    service.log.error('two paywalls before one resource', {
      target,
      why: 'one payment opens one of them; mount only one',
    })
    return turnAway(refuse('handler_failed'), proof.requestId)
  }
  if (!gate.open) return turnAway(refuse('shutting_down'), proof.requestId)
  const visit: Case = { service, route, incoming, proof }
  const done = gate.running.begin()
  return admit(visit)
    .then((admission): Entry => {
      if (admission.kind === 'refused') return turnAway(admission, proof.requestId)
      windows.keep(incoming, proof, admission)
      return { kind: 'admitted', pass: passFor(gate, visit, admission) }
    })
    .finally(done)
}

/** Which paywall let a request in: the same one mounted twice must not take the payment for a rival's. */
const admitted = new WeakMap<object, Gate>()

function passFor(gate: Gate, visit: Case, admission: Admission, window?: OpenWindow): Pass {
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
  return pass
}
