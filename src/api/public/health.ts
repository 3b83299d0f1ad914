/** `/readyz` and `/metrics`: the state of a service for load balancers and monitors. */
import { signatureBytes } from '../../core/encoding/base58.ts'
import { joinReports } from '../../paywall/quote/readiness-report.ts'
import type { CatalogEntry, Readiness, ReadinessReport } from '../../paywall/runtime/catalog.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { within } from '../../paywall/runtime/within.ts'
import { type Access, isLocalVisit, mayRead, type Visitor } from '../http/access.ts'
import { answer, problem, respond } from '../http/errors.ts'

export interface ReadinessAnswer extends Readiness {
  readonly ready: boolean
  /**
   * `ledger_unavailable`, `clock_wrong`, `not_selling`, `resource_unavailable` (a route is paused). Authorized readers
   * also get the reasons.
   */
  readonly why: readonly string[]
}

/** The ledger is queried at most once in this time. */
const keepMs = 1_000
const patienceMs = 2_000

interface Finding {
  readonly code: string
  /** For the operator: it can name nodes and hosts. */
  readonly reason: string
  /** The names of the affected routes, if they are published. */
  readonly routes?: readonly string[]
}

export function createHealth(service: Runtime) {
  let last: { readonly at: number; readonly findings: Promise<Findings> } | undefined
  const look = (): Promise<Findings> => {
    const at = service.clock.monotonic()
    if (!last || at - last.at > keepMs) last = { at, findings: findFaults(service) }
    return last.findings
  }
  return {
    look,
    ready: async (isTold: boolean) => {
      const { faults, paused, isPaused, offered, withheld } = await look()
      const why = [...faults, ...paused].map(({ code, reason }) => (isTold ? `${code}: ${reason}` : code))
      const reasons = Object.entries(withheld).map(([token, reason]) => [token, isTold ? reason : 'not offered'])
      const tokens = { offered, withheld: Object.fromEntries(reasons) }
      const body: ReadinessAnswer = { ready: faults.length === 0 && !isPaused, ...tokens, why: [...new Set(why)] }
      return body.ready ? answer(body) : answer(body, { status: 503, headers: { 'Retry-After': '2' } })
    },
  }
}

export type Health = ReturnType<typeof createHealth>

interface Findings extends Readiness {
  readonly faults: readonly Finding[]
  /** Routes that currently cannot deliver, and whether all routes are affected. */
  readonly paused: readonly Finding[]
  readonly isPaused: boolean
}

const notKnown: ReadinessReport = {
  ready: false,
  why: 'the first check has not finished yet',
  offered: [],
  withheld: {},
}

async function findFaults(service: Runtime): Promise<Findings> {
  const selling = await within(patienceMs, service.catalog.readiness(), () => [notKnown])
  const { offered, withheld, isPaused = false } = joinReports(selling)
  const clock = service.clockCheck.why()
  const reportsOf = listByReason(service.catalog.entries(), selling)
  const unsold = clock === undefined ? reportsOf('not_selling', ({ ready, isPaused: isOut }) => !ready && !isOut) : []
  const paused = reportsOf('resource_unavailable', ({ isPaused: isOut = false }) => isOut)
  const peeking = service.ledger.peek(new Uint8Array(signatureBytes)).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const silent = await within(patienceMs, peeking, () => 'it does not respond')
  const faults = [
    ...(silent === undefined ? [] : [{ code: 'ledger_unavailable', reason: silent }]),
    ...(clock === undefined ? [] : [{ code: 'clock_wrong', reason: clock }]),
    ...unsold,
  ]
  return { faults, paused, isPaused, offered, withheld }
}

/** One finding for each reason, because many routes may have the same. */
function listByReason(entries: readonly CatalogEntry[], reports: readonly ReadinessReport[]) {
  // There is only one report if no route answered in time.
  const named = entries.length === reports.length ? entries : []
  return (code: string, isMeant: (report: ReadinessReport) => boolean): readonly Finding[] => {
    const routes = new Map<string, readonly string[]>()
    for (const [index, report] of reports.entries()) {
      const { why = 'no route can sell' } = report
      const { methods = [], path } = named[index] ?? {}
      const name = path === undefined ? [] : [`${methods.join(', ')} ${path}`]
      if (isMeant(report)) routes.set(why, [...(routes.get(why) ?? []), ...name])
    }
    return [...routes].map(([reason, names]) => ({ code, reason, routes: names }))
  }
}

/**
 * Metrics contain no amounts, but names of nodes. Owners can read them, programs on this machine on every network, and
 * everyone if the option `metrics` is `'open'`.
 */
export async function metricsEndpoint(
  service: Runtime,
  request: Request,
  { visitor, access, isOpen }: { readonly visitor: Visitor; readonly access: Access; readonly isOpen: boolean },
): Promise<Response> {
  if (!isOpen && !mayRead(access) && !isLocalVisit(request, visitor)) {
    const detail = "Send the request from the same machine, sign in, or set metrics: 'open'."
    return problem('sign_in_required', { detail, headers: { 'WWW-Authenticate': 'Bearer' } })
  }
  return respond(await service.formatMetrics(), 'text/plain; version=0.0.4; charset=utf-8')
}
