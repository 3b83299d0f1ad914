/** The open routes of a plan: their paywalls, their connections, and the health of their upstreams. */
import { openConfiguredPaywall } from '../compose/paywall.ts'
import type { Log } from '../core/runtime.ts'
import type { Paywall } from '../paywall/paywall.ts'
import { within } from '../paywall/runtime/within.ts'
import type { Plan, RoutePlan } from './config/plan.ts'
import type { OpenRoute } from './proxy/handle-request.ts'
import { createOutgoing, createPreflightHead } from './proxy/request-head.ts'
import { createUpstreams } from './upstream/connections.ts'
import { createUpstreamHealth, type UpstreamHealth } from './upstream/health.ts'
import { createProbe } from './upstream/probe.ts'

const patienceMs = 1_000

/** Throws, and leaves nothing open, if a paywall cannot be opened. */
export function openRouteSet(plan: Plan, log: Log) {
  const upstreams = createUpstreams()
  const healths = new Map<string, UpstreamHealth>()
  const routes: OpenRoute[] = []
  const paywalls = (): readonly Paywall[] => routes.flatMap(({ paywall }) => paywall ?? [])
  const stop = async (): Promise<void> => {
    for (const health of healths.values()) health.stop()
    await upstreams.close()
  }
  const open = (route: RoutePlan): OpenRoute => {
    const { config, upstream } = route
    const pool = upstreams.poolFor(upstream)
    const { origin, headers, connectMs, answerMs, probe } = upstream
    const name = JSON.stringify([origin, headers, connectMs, answerMs, probe])
    const known = healths.get(name) ?? createUpstreamHealth(upstream, createProbe(upstream, pool), log)
    healths.set(name, known)
    const paywall = config && openConfiguredPaywall(config)
    return {
      ...route,
      paywall,
      outgoing: createOutgoing(plan, route),
      preflightHead: createPreflightHead(plan, route),
      pool,
      health: known.openRoute(route.name, paywall),
    }
  }
  try {
    for (const route of plan.routes) routes.push(open(route))
  } catch (error) {
    for (const paywall of paywalls()) void paywall.close()
    void stop()
    throw error
  }
  return {
    routes,
    paywalls: paywalls(),
    /**
     * Probes the upstreams for the first time, for at most a second. The routes of an upstream are paused until it
     * responds.
     */
    start: async () => {
      const started = Promise.all([...healths.values()].map((health) => health.start()))
      await within(patienceMs, started, () => {})
    },
    /** The upstreams with their routes. */
    listUpstreams: () => [...healths.values()].map((health) => health.describe()),
    /** Releases the upstreams, after the paywalls are closed. */
    close: stop,
    /** Releases everything after the running responses have ended. */
    retire: async () => {
      for (const health of healths.values()) health.stop()
      await Promise.all(paywalls().map((paywall) => paywall.retire()))
      await upstreams.retire()
    },
  }
}

export type RouteSet = ReturnType<typeof openRouteSet>
