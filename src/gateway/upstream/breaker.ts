/**
 * Circuit breakers: whether an upstream, or one route of it, can deliver at this moment. A priced route is paused while a
 * breaker is open, so that nothing is sold that would not be delivered.
 */

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

export interface FailureWindow {
  /** `tx` is the payment that was answered. True when the route has failed for too many of them. */
  add(isFailure: boolean, tx: string): boolean
}

/** The last answers to payments. A payment that fails again and again counts once, so that one payer cannot pause a route. */
export function createFailureWindow(): FailureWindow {
  let failures: (string | undefined)[] = []
  return {
    add: (isFailure, tx) => {
      if (isFailure && failures.includes(tx)) return false
      failures.push(isFailure ? tx : undefined)
      if (failures.length > windowLength) failures.shift()
      if (!isFailure || failures.filter((one) => one !== undefined).length < leastFailures) return false
      failures = []
      return true
    },
  }
}
