/** The lines of the books that a period needs. Their number is small for periods of any length. */
import type { Period } from '../../core/ports/reports.ts'
import { computeStart, dayMs, type Grain, hourMs } from './totals.ts'

/** Lines of a grain from one time (inclusive) to another (exclusive), to be added or subtracted. */
export type Range = readonly [grain: Grain, from: number, to: number, sign: 1 | -1]

const ever = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const
const none: Range = ['hour_endpoint', 0, 0, 1]

export function computeBounds({ from = ever[0], to = ever[1] }: Period): readonly [from: number, to: number] {
  return [from, to]
}

export function sumRange(period: Period): Range {
  return isEver(period) ? ['all', 0, 1, 1] : ['hour', ...computeBounds(period), 1]
}

/**
 * Three ranges, some of which may be empty: the whole days, and at each end the hours to add or to subtract, whichever
 * are fewer.
 */
export function endpointRanges(period: Period): readonly [Range, Range, Range] {
  if (isEver(period)) return [['endpoint', 0, 1, 1], none, none]
  const [from, to] = computeBounds(period)
  if (to - from <= dayMs) return [['hour_endpoint', from, to, 1], none, none]
  const [first, begin] = period.from === undefined ? [from, none] : edge(from, 'begin')
  const [last, end] = period.to === undefined ? [to, none] : edge(to, 'end')
  return [['day_endpoint', first, last, 1], begin, end]
}

/** The nearest start of a day, and the hours between it and a time. */
function edge(time: number, side: 'begin' | 'end'): readonly [day: number, hours: Range] {
  const day = computeStart(time + dayMs / 2, dayMs)
  const isMissing = side === 'begin' ? day > time : day < time
  return [day, ['hour_endpoint', Math.min(day, time), Math.max(day, time), isMissing ? 1 : -1]]
}

/** The ranges for points of an hour or a day. Days of one endpoint are read by day, all others by hour. */
export function seriesRanges(period: Required<Period>, step: 'hour' | 'day', ofEndpoint: boolean): readonly Range[] {
  if (!ofEndpoint) return [['hour', period.from, period.to, 1]]
  return step === 'day' ? endpointRanges(period) : [['hour_endpoint', period.from, period.to, 1]]
}

/** Rejects periods that only a defective program passes: the books contain whole hours. */
export function checkPeriod({ from = 0, to = 0 }: Period): void {
  const isWhole = (time: number): boolean => Number.isSafeInteger(time) && computeStart(time, hourMs) === time
  if (!isWhole(from) || !isWhole(to)) throw new RangeError('Ledger: a period begins and ends with a whole hour.')
}

/** Payers are counted by day. */
export function checkDays({ from, to }: Required<Period>): void {
  const isWhole = (time: number): boolean => Number.isSafeInteger(time) && computeStart(time, dayMs) === time
  if (!isWhole(from) || !isWhole(to))
    throw new RangeError('Ledger: a period of payers begins and ends with a whole day.')
}

/** A number of results in the range of the databases. */
export function checkCount(most: number): number {
  return Math.min(Math.max(0, Math.floor(most)), 2 ** 31 - 1)
}

function isEver({ from, to }: Period): boolean {
  return from === undefined && to === undefined
}
