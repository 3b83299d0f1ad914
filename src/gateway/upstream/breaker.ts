/**
 * Circuit breakers: whether an upstream, or one route of it, can deliver at this moment. A priced route is paused while a
 * breaker is open, so that nothing is sold that would not be delivered.
 */
import type { PaymentFacts } from '../../paywall/delivery/admitted.ts'

export interface Breaker {
  /** Why nothing can be delivered, for the operator; undefined while it is closed. */
  why(): string | undefined
  trip(why: string): void
  /** Notes that something was delivered since the last trip: the next trip is a new illness, and is looked at again soon. */
  note(): void
  stop(): void
}

export interface BreakerParts {
  /** Asks the upstream: why it cannot deliver, or undefined. Never rejects. */
  readonly probe: () => Promise<string | undefined>
  /** How soon an open breaker is looked at again. */
  readonly retryMs: number
  readonly onChange: () => void
}

/** A breaker that trips again before anything was delivered waits twice as long, up to so many times. */
const mostDoublings = 6

export function createBreaker({ probe, retryMs, onChange }: BreakerParts): Breaker {
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
    why: () => why,
    trip: (fault) => {
      if (why !== undefined || isStopped) return
      doublings = hasDelivered ? 0 : Math.min(doublings + 1, mostDoublings)
      hasDelivered = false
      change(fault)
      wait()
    },
    note: () => {
      hasDelivered = true
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** So many of the last payments must fail for a route to be paused. */
const leastFailures = 5
const windowLength = 10

/** A payment that was answered, and its payer. */
export type AnsweredPayment = Pick<PaymentFacts, 'tx' | 'payer'>

export interface FailureWindow {
  /** True when the route has failed for too many payments. */
  add(isFailure: boolean, payment: AnsweredPayment): boolean
}

/**
 * The last answers to payments. A payment that fails again and again counts once. While others are served, a payer counts once,
 * too: whoever sends requests that only fail for them cannot pause a route for all.
 */
export function createFailureWindow(): FailureWindow {
  let answers: (AnsweredPayment & { readonly isFailure: boolean })[] = []
  return {
    add: (isFailure, { tx, payer }) => {
      if (isFailure && answers.some((one) => one.isFailure && one.tx === tx)) return false
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
