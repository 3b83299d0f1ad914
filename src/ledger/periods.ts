/** Which lines of the books are read for a period: few, however long it is. */
import type { Period } from '../core/ports.ts'
import type { Grain } from './rollup.ts'
import { dayMs, hourMs, startOf } from './rollup.ts'

/** Lines of a grain, from a time on and before another. */
export type Range = readonly [grain: Grain, from: number, to: number]

const ever = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const

export function boundsOf({ from = ever[0], to = ever[1] }: Period): readonly [from: number, to: number] {
  return [from, to]
}

export function sumRange(period: Period): Range {
  return isEver(period) ? ['all', 0, 1] : ['hour', ...boundsOf(period)]
}

/** Three, of which some may be empty: whole days, and the hours before and after them. */
export function endpointRanges(period: Period): readonly [Range, Range, Range] {
  const none: Range = ['hour_endpoint', 0, 0]
  if (isEver(period)) return [['endpoint', 0, 1], none, none]
  const [from, to] = boundsOf(period)
  const firstDay = period.from === undefined ? from : -startOf(-from, dayMs)
  const lastDay = period.to === undefined ? to : startOf(to, dayMs)
  if (firstDay >= lastDay) return [['hour_endpoint', from, to], none, none]
  return [
    ['day_endpoint', firstDay, lastDay],
    ['hour_endpoint', from, firstDay],
    ['hour_endpoint', lastDay, to],
  ]
}

/** For points of an hour or a day: those of one endpoint by day are read by day, all others by the hour. */
export function seriesRanges(period: Required<Period>, step: 'hour' | 'day', ofEndpoint: boolean): readonly Range[] {
  if (!ofEndpoint) return [['hour', period.from, period.to]]
  return step === 'day' ? endpointRanges(period) : [['hour_endpoint', period.from, period.to]]
}

/** Throws on what only a broken program asks for: nobody has counted the minutes of an hour. */
export function checkPeriod({ from = 0, to = 0 }: Period): void {
  const isWhole = (time: number): boolean => Number.isSafeInteger(time) && startOf(time, hourMs) === time
  if (!isWhole(from) || !isWhole(to)) throw new RangeError('Ledger: a period begins and ends with a whole hour.')
}

export function checkCount(most: number): number {
  return Math.max(0, Math.floor(most))
}

function isEver({ from, to }: Period): boolean {
  return from === undefined && to === undefined
}
