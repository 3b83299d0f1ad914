/**
 * A lease that is renewed while a response runs. Its loss is reported at the deadline, even if the ledger or the
 * handler hangs.
 */
import type { Grant, Ledger } from '../../core/ports/ledger.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import type { Deadlines } from '../runtime/deadlines.ts'

export interface HeldLease {
  isAlive(): boolean
  /** Monotonic milliseconds. */
  deadline(): number
  onLost(callback: () => void): void
  lose(why: string): void
  /** Ends the renewal. The lease is no longer needed. */
  stop(): void
}

export interface LeaseParts {
  readonly grant: Grant
  readonly takenAt: number
  readonly leaseMs: number
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
}

export function holdLease({ grant, takenAt, leaseMs, ledger, clock, log }: LeaseParts): HeldLease {
  let deadline = takenAt + leaseMs
  let stopped = false
  let lost = false
  let tellLost: () => void = () => {}
  let [heartbeat, expiry]: (ReturnType<typeof setTimeout> | undefined)[] = []

  const lose = (why: string): void => {
    if (stopped || lost) return
    lost = true
    log.warn('lease.lost', { leaseMs, why })
    tellLost()
  }
  const beat = async (): Promise<void> => {
    if (stopped || lost) return
    const asked = clock.monotonic()
    if (asked >= deadline) return lose('it expired')
    try {
      if (!(await ledger.renew(grant, leaseMs))) return lose('another request holds it, or its payment was reverted')
      deadline = asked + leaseMs
    } catch (error) {
      log.warn('lease.renew_failed', { why: String(error) })
    }
    schedule()
  }
  const schedule = (): void => {
    if (stopped || lost) return
    heartbeat = setTimeout(() => void beat(), leaseMs / 3)
    heartbeat.unref?.()
  }
  /** Enforces the deadline even if the ledger does not respond or the handler writes nothing. */
  const watch = (): void => {
    if (stopped || lost) return
    const leftMs = deadline - clock.monotonic()
    if (leftMs > 0) {
      expiry = setTimeout(watch, Math.ceil(leftMs))
      expiry.unref?.()
    } else lose('it expired')
  }
  schedule()
  watch()

  return {
    isAlive: () => !lost && clock.monotonic() < deadline,
    deadline: () => deadline,
    onLost: (callback) => {
      tellLost = callback
    },
    lose,
    stop: () => {
      stopped = true
      clearTimeout(heartbeat)
      clearTimeout(expiry)
    },
  }
}

/** Node's timers are limited to about 24 days. */
const longestTimerMs = 3_600_000

/** Holds the lease, but at most until `end`, in milliseconds since 1970. */
export function holdUntil(held: HeldLease, end: number, clock: Clock): HeldLease {
  let timer: ReturnType<typeof setTimeout> | undefined
  const isOver = (): boolean => clock.now() >= end
  const watch = (): void => {
    if (isOver()) held.lose('its allowance expired')
    else {
      timer = setTimeout(watch, Math.min(Math.ceil(end - clock.now()) || longestTimerMs, longestTimerMs))
      timer.unref?.()
    }
  }
  watch()
  return {
    ...held,
    isAlive: () => held.isAlive() && !isOver(),
    stop: () => {
      clearTimeout(timer)
      held.stop()
    },
  }
}

export interface WindowParts {
  readonly deadlines: Deadlines
  readonly clock: Clock
  readonly leaseMs: number
  /** The end of the window, in milliseconds since 1970. Running responses end one lease period later. */
  readonly usableUntil: number
  /** Whether the payment of the window was neither refunded nor reverted. */
  readonly isStanding: () => Promise<boolean>
}

/**
 * A time window. The ledger holds no lease for it, so a response that runs for longer than a lease period asks after
 * each period whether the payment still stands.
 */
export function holdWindow({ deadlines, clock, leaseMs, usableUntil, isStanding }: WindowParts): HeldLease {
  const end = usableUntil + leaseMs
  let isLost = false
  let isStopped = false
  let tellLost: () => void = () => {}
  const lose = (): void => {
    if (isLost || isStopped) return
    isLost = true
    tellLost()
  }
  /** In whole seconds, which many responses share. Not in the last period: the ledger may count the window as over. */
  const findNext = (): number => {
    const next = Math.ceil((clock.now() + leaseMs) / 1000) * 1000
    return next < usableUntil - leaseMs ? next : end
  }
  const look = (): void => {
    if (clock.now() >= end) {
      lose()
      return
    }
    callOff = deadlines.watch(findNext(), look)
    // During an outage of the ledger the window stays open.
    isStanding().then(
      (stands) => void (stands || lose()),
      () => {},
    )
  }
  let callOff = deadlines.watch(findNext(), look)
  return {
    isAlive: () => !isLost && clock.now() < end,
    deadline: () => Number.POSITIVE_INFINITY,
    onLost: (callback) => {
      tellLost = callback
    },
    lose,
    stop: () => {
      isStopped = true
      callOff()
    },
  }
}
