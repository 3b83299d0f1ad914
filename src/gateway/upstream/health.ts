/** Tracks which routes can deliver, by the breakers of their upstreams and their own. */
import type { UpstreamState } from '../../api/screens/service.ts'
import type { Log } from '../../core/runtime.ts'
import type { Paywall } from '../../paywall/paywall.ts'
import type { UpstreamPlan } from '../config/plan.ts'
import { type AnsweredPayment, type Breaker, createBreaker, createFailureWindow } from './breaker.ts'
import type { Probe } from './probe.ts'

export interface UpstreamHealth {
  /** The health of a route of this upstream. Its paywall is paused while the route cannot deliver. */
  openRoute(name: string, paywall: Paywall | undefined): RouteHealth
  /** Probes the upstream for the first time. Its routes are paused until it responds. */
  start(): Promise<void>
  stop(): void
  /** For the dashboard. */
  describe(): UpstreamState
}

export interface RouteHealth {
  /** The upstream responded to a request, possibly a paid one. */
  answered(status: number, payment: AnsweredPayment | undefined): void
  /** The upstream failed before it responded. */
  failed(error: unknown, why: string, payment: AnsweredPayment | undefined): void
}

/** The upstream is unreachable, whatever was requested. */
function isOutage(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as { readonly code?: unknown; readonly syscall?: unknown }
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true
  return /^(?:UND_ERR_CONNECT_TIMEOUT|EUPSTREAM|ERR_TLS_\w+|ERR_SSL_\w+|\w*CERT\w*|UNABLE_TO_\w+)$/.test(String(code))
}

/** The response does not start in time. The client can cause this, by a request that takes long. */
const lateAnswer = /^(?:UND_ERR_HEADERS_TIMEOUT|ETIMEDOUT)$/

/** The upstream closed the connection, or sent invalid HTTP. */
const brokenAnswer = /^(?:UND_ERR_SOCKET|UND_ERR_HEADERS_OVERFLOW|ECONNRESET|EPIPE|HPE_\w+)$/

export function createUpstreamHealth({ origin, probe: plan }: UpstreamPlan, probe: Probe, log: Log): UpstreamHealth {
  const { everyMs } = plan
  const retryMs = Math.min(everyMs, longestRetryMs)
  const listeners = new Set<() => void>()
  const routeBreakers: Breaker[] = []
  const routes: string[] = []
  let isKnown = false
  let timer: ReturnType<typeof setInterval> | undefined
  let isAsking = false
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  const logOutage = createOutageLog({
    start: (why) => log.error('upstream.down', { upstream: origin, why }),
    end: () => log.info('upstream.up', { upstream: origin }),
  })
  const breaker = createBreaker({
    probe,
    retryMs,
    onChange: () => {
      logOutage(breaker.why())
      tell()
    },
  })
  const look = async (): Promise<void> => {
    if (isAsking || breaker.why() !== undefined) return
    isAsking = true
    const fault = await probe()
    isAsking = false
    if (fault !== undefined) breaker.trip(fault)
    if (isKnown) return
    isKnown = true
    tell()
  }
  return {
    openRoute: (name, paywall) => {
      const failures = createFailureWindow()
      const logOwnOutage = createOutageLog({
        start: (why) => log.error('route.failing', { route: name, why }),
        end: () => log.info('route.recovered', { route: name }),
      })
      const own = createBreaker({
        probe,
        retryMs,
        onChange: () => {
          logOwnOutage(own.why())
          follow()
        },
      })
      const follow = (): void => {
        const why = isKnown ? (breaker.why() ?? own.why()) : `the upstream ${origin} has not been checked yet`
        if (why === undefined) paywall?.resume()
        else paywall?.pause(why)
      }
      routeBreakers.push(own)
      routes.push(name)
      listeners.add(follow)
      follow()
      const count = (isFailure: boolean, why: string, payment: AnsweredPayment | undefined): void => {
        if (payment && failures.add(isFailure, payment)) own.trip(why)
      }
      return {
        answered: (status, payment) => {
          const isFailure = status >= 500
          count(isFailure, `the upstream ${origin} fails for most payments (last status: ${status})`, payment)
          if (isFailure) return
          breaker.note()
          own.note()
        },
        failed: (error, why, payment) => {
          if (isOutage(error)) return breaker.trip(why)
          const code = String((error as NodeJS.ErrnoException).code)
          const isLate = lateAnswer.test(code)
          if (isLate) void look()
          if (isLate || brokenAnswer.test(code)) count(true, why, payment)
        },
      }
    },
    start: async () => {
      timer = setInterval(() => {
        // Repeated, because a former paywall of the route may have closed meanwhile.
        tell()
        void look()
      }, everyMs)
      timer.unref()
      await look()
    },
    stop: () => {
      clearInterval(timer)
      breaker.stop()
      for (const one of routeBreakers) one.stop()
    },
    describe: () => ({ origin, routes, why: isKnown ? breaker.why() : 'it has not been checked yet' }),
  }
}

/** An upstream that is down is probed at least this often. */
const longestRetryMs = 1_000

/** An outage that lasts is logged again after this time. */
const reminderMs = 60_000

interface OutageEvents {
  readonly start: (why: string) => void
  readonly end: () => void
}

/** Logs the start and the end of an outage. The returned function takes the result of each probe. */
function createOutageLog({ start, end }: OutageEvents): (why: string | undefined) => void {
  let loggedAt: number | undefined
  return (why) => {
    if (why === undefined) {
      loggedAt = undefined
      end()
      return
    }
    const now = performance.now()
    if (loggedAt !== undefined && now - loggedAt < reminderMs) return
    loggedAt = now
    start(why)
  }
}
