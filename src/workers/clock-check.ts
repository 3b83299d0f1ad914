/**
 * Compares the server's clock with the chain's time. Prices expire by the server's clock and payments land by the
 * chain's, so a server with a wrong clock must not sell: it would refuse the payments.
 */
import type { Meter } from '../core/observability/metrics.ts'
import type { ChainTime } from '../core/ports/chain.ts'
import type { Clock, ClockCheck, Log } from '../core/runtime.ts'

export interface ClockCheckParts {
  /** The time of the most advanced node. Undefined if no node reports it. */
  readonly read: () => Promise<ChainTime | undefined>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly pauses?: Pauses
}

interface Pauses {
  /** Interval between readings while the clock is right. */
  readonly calmMs: number
  /** Interval otherwise, and between checks for a clock that was set. */
  readonly hurriedMs: number
}

export interface RunningClockCheck extends ClockCheck {
  /** Resolves when the nodes were asked once, with any result. */
  readonly first: Promise<void>
  stop(): Promise<void>
}

const usualPauses: Pauses = { calmMs: 10_000, hurriedMs: 1_000 }
/** Beyond this difference the clock is wrong. */
export const boundMs = 30_000
/** Within this difference a wrong clock is right again. */
const calmBoundMs = 20_000
/** For this time after a reading, the verdict is confirmed. */
const confirmedMs = 30_000
/** If the clock was set by more than this, it is compared at once. */
const jumpMs = 5_000
/** The number of consecutive readings that change the verdict, so that one outlier does not. */
const readingsToChange = 3

export function startClockCheck(parts: ClockCheckParts): RunningClockCheck {
  const { read, clock, log, meter, pauses = usualPauses } = parts
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  let hasVerdict = false
  /** The lead of a wrong clock. */
  let wrongByMs: number | undefined
  let contradictions = 0

  const judge = (aheadMs: number): void => {
    meter.set('paystile_clock_ahead_seconds', aheadMs / 1000)
    const isWrong = wrongByMs !== undefined
    const isOff = Math.abs(aheadMs) > (isWrong ? calmBoundMs : boundMs)
    contradictions = isOff === isWrong ? 0 : contradictions + 1
    if (isWrong && isOff) wrongByMs = aheadMs
    // Before the first verdict a single reading counts.
    if (contradictions >= (hasVerdict ? readingsToChange : 1)) {
      contradictions = 0
      wrongByMs = isOff ? aheadMs : undefined
      if (isOff)
        log.error('clock.wrong', { why: describe(aheadMs), next: 'correct the clock; nothing is sold until then' })
      else log.info('clock.corrected', { aheadSeconds: seconds(aheadMs) })
    }
    hasVerdict = true
  }
  /** The time of the last question, by the monotonic clock. */
  let askedAt = 0
  let startOfClock = 0
  /** The last reading that measured the clock. */
  let measured: { readonly at: number; readonly startOfClock: number } | undefined
  const look = async (): Promise<void> => {
    const asked = clock.now()
    askedAt = clock.monotonic()
    startOfClock = asked - askedAt
    const time = await read().catch(() => undefined)
    const aheadMs = time && measure((asked + clock.now()) / 2, time)
    if (aheadMs === undefined) return
    measured = { at: askedAt, startOfClock }
    judge(aheadMs)
  }
  /**
   * Whether the clock was set after a reading. `start` is the time at which, by that reading, the monotonic
   * clock was 0.
   */
  const wasSet = (start: number): boolean => Math.abs(clock.now() - clock.monotonic() - start) > jumpMs
  const isDue = (): boolean => {
    if (!hasVerdict || wrongByMs !== undefined || contradictions > 0) return true
    return clock.monotonic() - askedAt >= pauses.calmMs || wasSet(startOfClock)
  }
  const rest = (): void => {
    if (stopped) return
    timer = setTimeout(() => {
      running = isDue() ? look() : running
      void running.then(rest)
    }, pauses.hurriedMs)
    timer.unref?.()
  }
  let running = look()
  void running.then(rest)
  return {
    why: () => (wrongByMs === undefined ? undefined : describe(wrongByMs)),
    aheadMs: () => wrongByMs ?? 0,
    // A leap of the machine's clock also counts as monotonic time, so it makes the reading old.
    isConfirmed: () =>
      measured !== undefined &&
      contradictions === 0 &&
      clock.monotonic() - measured.at <= confirmedMs &&
      !wasSet(measured.startOfClock),
    first: running,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/**
 * Measures the lead of a clock over the chain. Undefined if the reading proves nothing.
 *
 * A lagging node reports a past time, never a future one. A chain that is ahead therefore proves that the clock is
 * behind. A chain that is behind proves nothing by itself; in that case the node's own clock shows whether the node
 * lags.
 */
export function measure(nowMs: number, { chainMs, nodeMs }: ChainTime): number | undefined {
  const aheadMs = nowMs - chainMs
  if (aheadMs <= boundMs) return aheadMs
  if (nodeMs === undefined) return undefined
  const aheadOfNodeMs = nowMs - nodeMs
  if (aheadOfNodeMs < -boundMs) return undefined
  return Math.min(aheadMs, Math.max(0, aheadOfNodeMs))
}

function describe(aheadMs: number): string {
  return `the clock is ${seconds(Math.abs(aheadMs))} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the chain's time`
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}

/** On a localnet the service uses the chain's clock. */
export const noClockCheck: RunningClockCheck = {
  why: () => undefined,
  aheadMs: () => 0,
  isConfirmed: () => true,
  first: Promise.resolve(),
  stop: async () => {},
}
