/**
 * Circuit breakers: whether an upstream, or one of its routes, can deliver. A priced route is paused while a breaker is
 * open, so that the gateway does not sell undeliverable responses.
 */
import type { PaymentFacts } from '../../paywall/delivery/receipt.ts'

export interface BreakerParts {
  /** Probes the upstream and returns the reason that it cannot deliver, or undefined. Never rejects. */
  readonly probe: () => Promise<string | undefined>
  /** Delay until an open breaker is probed again. */
  readonly retryMs: number
  readonly onChange: () => void
}

/** A breaker that trips again before a delivery waits twice as long, up to this many doublings. */
const mostDoublings = 6

export function createBreaker({ probe, retryMs, onChange }: BreakerParts) {
  let why: string | undefined
  let doublings = 0
  let hasDelivered = true
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const change = (next: string | undefined): void => {
    why = next
    onChange()
  }
  const wait = (): void => {
    if (isStopped) return
    timer = setTimeout(look, retryMs * 2 ** doublings)
    timer.unref?.()
  }
  const look = (): void => {
    void probe().then((fault) => {
      if (isStopped) return
      if (fault === undefined) change(undefined)
      else {
        change(fault)
        wait()
      }
    })
  }
  return {
    /** The reason for the operator; undefined while the breaker is closed. */
    why: () => why,
    trip: (fault: string) => {
      if (why !== undefined || isStopped) return
      doublings = hasDelivered ? 0 : Math.min(doublings + 1, mostDoublings)
      hasDelivered = false
      change(fault)
      wait()
    },
    /** Records a delivery since the last trip. The next trip is then a new failure, and is probed again soon. */
    note: () => {
      hasDelivered = true
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

export type Breaker = ReturnType<typeof createBreaker>

/** Number of failures among the last payments that pauses a route. */
const leastFailures = 5
const windowLength = 10
/** The failed payments that a route remembers. Each of them has cost its payer the price. */
const mostRemembered = 10_000

/** A payment with a response, and its payer. */
export type AnsweredPayment = Pick<PaymentFacts, 'tx' | 'payer'>

/**
 * The last responses to payments. A payment that fails repeatedly counts once, also after the route was paused. While other payers are served, a payer
 * counts once, too, so that one payer with failing requests cannot pause a route for all.
 */
export function createFailureWindow() {
  let answers: (AnsweredPayment & { readonly isFailure: boolean })[] = []
  const failed = new Set<string>()
  return {
    /** True if the route failed for too many payments. */
    add: (isFailure: boolean, { tx, payer }: AnsweredPayment) => {
      if (isFailure && failed.has(tx)) return false
      if (isFailure) failed.add(tx)
      const [oldest = ''] = failed
      if (failed.size > mostRemembered) failed.delete(oldest)
      answers.push({ isFailure, tx, payer })
      if (answers.length > windowLength) answers.shift()
      const failures = answers.filter((one) => one.isFailure)
      const payers = new Set(failures.map((one) => one.payer))
      const isForOthers = answers.some((one) => !one.isFailure && !payers.has(one.payer))
      if (!isFailure || (isForOthers ? payers.size : failures.length) < leastFailures) return false
      answers = []
      return true
    },
  }
}
