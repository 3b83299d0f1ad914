/**
 * Compares the server's clock with the chain's time. Prices end by the one and payments land by the other, so a server
 * whose clock is wrong must not sell: it would refuse the payments.
 */
import type { Meter } from '../core/encoding/metrics.ts'
import type { ChainTime } from '../core/ports/chain.ts'
import type { Clock, ClockCheck, Log } from '../core/runtime.ts'

export interface ClockCheckParts {
  /** The time of the node that is furthest ahead. Undefined where no node tells. */
  readonly read: () => Promise<ChainTime | undefined>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly pauses?: Pauses
}

interface Pauses {
  /** Between readings while all is well. */
  readonly calmMs: number
  /** Else, and between looks at the clock itself. */
  readonly hurriedMs: number
}

export interface RunningClockCheck extends ClockCheck {
  /** Resolves when the nodes were asked once, whatever came of it. */
  readonly first: Promise<void>
  stop(): Promise<void>
}

const usualPauses: Pauses = { calmMs: 10_000, hurriedMs: 1_000 }
/** Beyond this the clock is wrong. */
export const boundMs = 30_000
/** Within this a wrong clock is right again. */
const calmBoundMs = 20_000
/** A clock that was set by more than this is compared at once. */
const jumpMs = 5_000
/** So many readings in a row change the verdict, so that one odd answer does not. */
const readingsToChange = 3

export function startClockCheck(parts: ClockCheckParts): RunningClockCheck {
  const { read, clock, log, meter, pauses = usualPauses } = parts
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  let hasVerdict = false
  /** How far a wrong clock is ahead. */
  let wrongByMs: number | undefined
  let contradictions = 0

  const judge = (aheadMs: number): void => {
    meter.set('paystile_clock_ahead_seconds', aheadMs / 1000)
    const isWrong = wrongByMs !== undefined
    const isOff = Math.abs(aheadMs) > (isWrong ? calmBoundMs : boundMs)
    contradictions = isOff === isWrong ? 0 : contradictions + 1
    if (isWrong && isOff) wrongByMs = aheadMs
    // Before the first verdict nothing is known, so a single reading counts.
    if (contradictions >= (hasVerdict ? readingsToChange : 1)) {
      contradictions = 0
      wrongByMs = isOff ? aheadMs : undefined
      if (isOff) log.error('clock wrong', { why: describe(aheadMs), next: 'set the clock; nothing is sold until then' })
      else log.info('clock right again', { aheadSeconds: seconds(aheadMs) })
    }
    hasVerdict = true
  }
  /** When the nodes were asked last, by the clock that cannot be set. */
  let askedAt = 0
  let startOfClock = 0
  const look = async (): Promise<void> => {
    const asked = clock.now()
    askedAt = clock.monotonic()
    startOfClock = asked - askedAt
    const time = await read().catch(() => undefined)
    const aheadMs = time && measure((asked + clock.now()) / 2, time)
    if (aheadMs !== undefined) judge(aheadMs)
  }
  const isDue = (): boolean => {
    if (!hasVerdict || wrongByMs !== undefined || contradictions > 0) return true
    const now = clock.monotonic()
    return now - askedAt >= pauses.calmMs || Math.abs(clock.now() - now - startOfClock) > jumpMs
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
    first: running,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/**
 * How far a clock is ahead of the chain. Undefined where the reading proves nothing.
 *
 * A node that lags tells a time of the past, never one of the future. So a chain that is ahead proves that the clock is
 * behind, while a chain that is behind proves nothing alone: then the node's own clock tells whether the node lags.
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
