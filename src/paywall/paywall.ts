/**
 * The paywall decides whether a request must pay, has paid, or is refused. The adapters only translate to and from it.
 */

import { createInFlight } from '../core/collections/in-flight.ts'
import { encodeBase58 } from '../core/encoding/base58.ts'
import { type Answer, type Incoming, pageType } from '../core/http/http.ts'
import { createMeter } from '../core/observability/metrics.ts'
import { refuse } from '../core/payment/refusals.ts'
import { LedgerUnavailable } from '../core/ports/ledger.ts'
import type { Log } from '../core/runtime.ts'
import type { ForeignDialect } from '../dialects/dialect.ts'
import { joinDialects, nativeOnly } from '../dialects/join.ts'
import { createMpp } from '../dialects/mpp.ts'
import { createX402 } from '../dialects/x402.ts'
import { createX402V1 } from '../dialects/x402-v1.ts'
import { createActions } from './checkout/actions.ts'
import { createVisitors } from './checkout/visitor.ts'
import { watchRoute } from './claim/observed-payments.ts'
import { type Config, nameRealm, type RouteConfig } from './config/config.ts'
import { createRecentAdmissions } from './delivery/admission-cache.ts'
import { createBundleSlices } from './delivery/bundle-slices.ts'
import type { RequestOutcome, ServedRoute } from './handle-request.ts'
import { createPayDesk, enterRoute, noLedger, notStarted } from './handle-request.ts'
import { compressPage } from './pages/compress.ts'
import { showProblem } from './pages/error-page.ts'
import { answerPreflight, readCorsHeaders } from './quote/cors.ts'
import { createFreeCounter } from './quote/free-quota.ts'
import { createResourceTypes } from './quote/resource-types.ts'
import { type ConcludedTerms, createRoute } from './quote/route.ts'
import type { RouteRuntime, RouteState } from './quote/route-runtime.ts'
import type { FormerTerms } from './quote/terms.ts'
import { nameRoute, startProbe } from './quote/token-probe.ts'
import { createReport, readReadiness } from './readiness.ts'
import { createCatalogEntry, type Readiness, type ReadinessReport } from './runtime/catalog.ts'
import type { Runtime, SponsorHandle } from './runtime/runtime.ts'

/** The part of a paywall that every adapter's middleware has. */
export interface Lifecycle {
  /**
   * Resolves when ledger and chain are available and at least one token can be paid with, and names the tokens. Rejects
   * with the reason otherwise. Waiting for it is optional.
   */
  ready(): Promise<Readiness>
  /** The same for health checks: never rejects. */
  readiness(): Promise<ReadinessReport>
  /**
   * Stops sales while the handler cannot deliver: unpaid requests get 503 instead of a challenge, proofs get 503 and
   * stay unused, and health checks report `why`. Applies to this process only.
   *
   * @example
   * database.on('lost', () => paid.pause('the database is out of reach'))
   * database.on('found', () => paid.resume())
   */
  pause(why: string): void
  resume(): void
  /** Refuses new proofs, waits for running responses, and closes ledger and nodes. */
  close(): Promise<void>
  /** The metrics in Prometheus's text format. */
  metrics(): Promise<string>
  /** The public key of the service's receipts, base58. */
  identity(): Promise<string>
}

export interface Paywall extends Lifecycle {
  /** Synchronous for an unpaid request, once the service has started. */
  enter(incoming: Incoming): RequestOutcome | Promise<RequestOutcome>
  /** The response for a handler that failed before it sent anything, or (504) did not respond in time. */
  handlerFailed(error: unknown, status?: 502 | 504): Answer
  /** The same for a replaced paywall, which gets no more requests. Running responses are not aborted. */
  retire(): Promise<void>
  /** Issues no further quotes. Returns the terms of the issued ones; undefined if there are none. */
  conclude(): ConcludedTerms | undefined
  /** Also honours quotes that former paywalls of these addresses issued. Called once it is ready. */
  honour(former: readonly FormerTerms[]): void
}

/** A service that may still be starting. */
export interface ServiceHandle {
  /**
   * The service, or a promise of it while it starts. After a failed start, the first call after a pause of 1 to 10 s
   * tries again.
   */
  get(): Runtime | Promise<Runtime>
  release(): Promise<void>
}

/**
 * The longest delay of a shutdown by a running response. After it, the response is aborted and its payment returned.
 */
const drainMs = 30_000
/** The time limit for recording these ends. */
const giveBackMs = 1_000

export function createPaywall(config: Config, handle: ServiceHandle, log: Log): Paywall {
  const running = createInFlight()
  const state: RouteState = {
    dialects: nativeOnly,
    listener: config.onEvent,
    running,
    open: true,
    types: createResourceTypes(),
    paused: undefined,
  }
  let listed: ListedRoute | undefined
  let isLeft = false
  /** Removes it from the selling routes. */
  const leave = (): void => {
    isLeft = true
    listed?.leave()
  }
  const openRoute = (runtime: Runtime): ServedRoute => {
    if (!listed) {
      listed = listRoute(state, runtime, config.route, log)
      measurePause(runtime)
    }
    // Closed before it had started, so it is removed at once.
    if (isLeft) leave()
    return listed.served
  }
  const measurePause = ({ meter }: Runtime): void =>
    meter.set('paystile_paused', state.paused === undefined ? 0 : 1, { route: nameRoute(config.route) })
  const setPause = (why: string | undefined): void => {
    state.paused = why
    Promise.resolve(handle.get())
      .then(measurePause)
      .catch(() => {})
  }
  const complete = createCompletion(config.route, state)

  // Registers the route before its first visitor, so that other routes can identify its requestIds.
  Promise.resolve(handle.get())
    .then(openRoute)
    .catch(() => {})

  const letGo = async (): Promise<void> => {
    await Promise.race([listed?.served.slices?.close(), pause(giveBackMs)])
    listed?.letGo()
    // A closed route must not raise an alert.
    if (state.paused !== undefined) setPause(undefined)
    await handle.release()
  }

  return {
    enter: (incoming) => {
      const preflight = config.route.cors && incoming.method === 'OPTIONS' && answerPreflight(incoming)
      if (preflight) return preflight
      const runtime = handle.get()
      if (!(runtime instanceof Promise)) {
        const entry = enterRoute(openRoute(runtime), incoming)
        return entry instanceof Promise
          ? entry.then((done) => complete(done, incoming, runtime))
          : complete(entry, incoming, runtime)
      }
      return runtime.then(
        async (started) => complete(await enterRoute(openRoute(started), incoming), incoming, started),
        (error) => complete(nativeOnly.refusal(error instanceof LedgerUnavailable ? noLedger : notStarted), incoming),
      )
    },
    handlerFailed: (error, status = 502) => {
      log.error('handler.failed', { why: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      return state.dialects.refusal(refuse('handler_failed', { status }))
    },
    ready: async () => readReadiness(openRoute(await handle.get())),
    readiness: () => createReport(state, async () => openRoute(await handle.get())),
    pause: setPause,
    resume: () => setPause(undefined),
    identity: async () => encodeBase58((await handle.get()).identity.publicKey),
    metrics: async () => {
      const runtime = await Promise.resolve(handle.get()).catch(() => undefined)
      return (runtime?.meter ?? createMeter()).format()
    },
    conclude: () => listed?.served.route.conclude(),
    honour: (former) => listed?.honour(former),
    close: async () => {
      state.open = false
      leave()
      await Promise.race([running.drained(), pause(drainMs)])
      running.breakOff()
      if (running.count() > 0) await Promise.race([running.drained(), pause(giveBackMs)])
      await letGo()
    },
    retire: async () => {
      leave()
      await running.drained()
      await letGo()
    },
  }
}

/** The last step of every answer: problems become pages for people, pages are compressed, and CORS headers are added. */
function createCompletion({ cors, checkout, seller }: RouteConfig, state: RouteState) {
  const withCors = (answer: Answer, incoming: Incoming): Answer => {
    if (!cors || incoming.header('origin') === undefined) return answer
    return { ...answer, headers: { ...answer.headers, ...readCorsHeaders(state.dialects) } }
  }
  /** Only pages wait: challenges are not compressed. */
  const send = (answer: Answer, incoming: Incoming): Answer | Promise<Answer> =>
    answer.headers['Content-Type'] === pageType
      ? compressPage(answer, incoming).then((page) => withCors(page, incoming))
      : withCors(answer, incoming)

  return (entry: RequestOutcome, incoming: Incoming, runtime?: Runtime): RequestOutcome | Promise<RequestOutcome> => {
    if (entry.kind !== 'answer') return entry
    const isProblem = entry.headers['Content-Type'] === 'application/problem+json'
    // A request with a payment comes from a program, although it accepts a page.
    if (!isProblem || !checkout || state.dialects.read(incoming) !== undefined) return send(entry, incoming)
    const style = runtime?.checkoutFiles.plainStyle ?? ''
    const pages = { seller, style, home: runtime?.findFrontPage(), network: runtime?.config.network }
    return send(showProblem(entry, incoming, pages), incoming)
  }
}

/** A selling route. */
interface ListedRoute {
  readonly served: ServedRoute
  readonly honour: Paywall['honour']
  /** Removes it from the catalog and from `/pay`. */
  leave(): void
  /** Ends its subscriptions to the service. */
  letGo(): void
}

function listRoute(state: RouteState, runtime: Runtime, config: RouteConfig, log: Log): ListedRoute {
  const { clock, ledger } = runtime
  const probe = startProbe(runtime, config)
  const { recipient, splits, accountKey } = config
  const others = { recipients: [recipient], splits, accountKey }
  const sponsor = config.sponsor && runtime.openSponsor(config.sponsor, others)
  state.dialects = joinDialects(openDialects(config, runtime, sponsor))
  if (state.dialects !== nativeOnly) void runtime.submitter.start()
  const route = createRoute(runtime, config, state.dialects, probe)
  const free = config.free && createFreeCounter(config, config.free, { clock, limits: runtime.openLimits() })
  // The same object, because a paywall may be paused or closed before its service has started.
  const routeRuntime: RouteRuntime = Object.assign(state, { runtime, route, probe, free, sponsor })
  const actions = config.checkout ? createActions(routeRuntime, ledger.kv) : undefined
  const visits = actions && createVisitors(routeRuntime, actions)
  const admissions = createRecentAdmissions(clock, config)
  const slices = createBundleSlices(runtime, config)
  const served: ServedRoute = Object.assign(routeRuntime, { admissions, slices, visits })

  const forget = (): void => {
    admissions?.clear()
    slices?.doubt()
  }
  const ends = [runtime.listen(({ kind }) => void (kind === 'reverted' && forget()))]
  if (state.listener) ends.push(runtime.listen(state.listener))
  const entry = createCatalogEntry(config, () => state.paused !== undefined)
  const leaves = [runtime.catalog.add(entry, () => createReport(state, async () => served))]
  const addDesk = (tags: readonly Uint8Array[]): void => {
    if (visits) leaves.push(runtime.payDesks.add(tags.map(encodeBase58), createPayDesk(served, visits)))
  }
  const watch = (recipients?: readonly string[]): void =>
    void watchRoute(runtime, config, recipients).catch((error) =>
      log.error('watcher.start_failed', { why: String(error) }),
    )
  addDesk(route.tags)
  watch()
  return {
    served,
    honour: (former) => {
      route.honour(former)
      watch(former.flatMap(({ terms }) => terms.recipientSets.map(({ recipient }) => recipient)))
      addDesk(former.flatMap(({ isContained, terms }) => (isContained ? terms.tags : [])))
    },
    leave: () => {
      for (const one of leaves.splice(0)) one()
      probe.stop()
    },
    letGo: () => {
      for (const end of ends.splice(0)) end()
    },
  }
}

/** The other protocols in which the route sells. */
function openDialects(
  { x402, mpp, publicUrl }: RouteConfig,
  { submitter, config }: Runtime,
  handle: SponsorHandle | undefined,
): readonly ForeignDialect[] {
  const sponsor = handle && {
    get address() {
      return handle.current()?.address ?? ''
    },
    recent: submitter.recent,
    isOffering: handle.isOffering,
  }
  const { network } = config
  return [
    ...(sponsor && x402 ? [createX402({ network, sponsor })] : []),
    ...(sponsor && x402?.v1 ? [createX402V1({ network, sponsor })] : []),
    ...(mpp ? [createMpp({ sponsor, realm: nameRealm(publicUrl, config.service), ...mpp })] : []),
  ]
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref?.())
}
