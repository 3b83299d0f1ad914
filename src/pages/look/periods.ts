/**
 * The period of the figures: today, the last days, this month, certain days, or all time. Its ends are whole hours
 * (UTC), because sums are kept by these hours.
 */
import { dayMs, hourMs, readDay, startOfDay, startOfMonth, type Zone } from './times.ts'

const periodNames = ['today', '7d', '30d', 'month', 'all', 'custom'] as const
export type PeriodName = (typeof periodNames)[number]

/** The period of every screen until the reader chooses another. */
export const usualPeriod = '7d'

export interface Period {
  readonly name: PeriodName
  /** Milliseconds since 1970; undefined for all time. */
  readonly from: number | undefined
  readonly to: number | undefined
}

const days = { today: 1, '7d': 7, '30d': 30 } as const
const halfHourMs = hourMs / 2

/**
 * The first hour (UTC) of a day or month that starts at `at`. In some zones a day starts within such an hour: the hour
 * belongs to the day that has at least half of it.
 */
function firstHour(at: number): number {
  return Math.ceil((at - halfHourMs) / hourMs) * hourMs
}

/** The start of the day that an hour (UTC) belongs to. */
export function dayOfHour(hour: number, zone: Zone): number {
  return startOfDay(hour + halfHourMs, zone)
}

/** The period of a query; the usual one if the query has no valid one. */
export function readPeriod(query: URLSearchParams, now: number, zone: Zone): Period {
  const asked = periodNames.find((name) => name === query.get('period')) ?? usualPeriod
  const to = Math.floor(now / hourMs) * hourMs + hourMs
  if (asked === 'custom') {
    const [first, last] = [readDay(query.get('from') ?? '', zone), readDay(query.get('to') ?? '', zone)]
    if (first !== undefined && last !== undefined && first <= last)
      return { name: 'custom', from: firstHour(first), to: firstHour(startOfDay(last, zone, 1)) }
  }
  if (asked === 'all') return { name: 'all', from: undefined, to: undefined }
  if (asked === 'month') return { name: 'month', from: firstHour(startOfMonth(now, zone)), to }
  const name = asked === 'custom' ? usualPeriod : asked
  return { name, from: firstHour(startOfDay(now, zone, 1 - days[name])), to }
}

/** The first and the last day of a period. */
export function listEnds({ from, to }: Period, now: number): readonly [first: number, last: number] {
  return [from === undefined ? now : from + halfHourMs, (to ?? now) - 1]
}

/**
 * The period to compare with: the same number of days before, or the month before. It is as long as the period itself,
 * so that this morning is compared with yesterday morning.
 */
export function periodBefore(
  { name, from, to }: Period,
  zone: Zone,
): { readonly from: number; readonly to: number } | undefined {
  if (from === undefined || to === undefined) return undefined
  const first = from + halfHourMs
  const count = name in days ? days[name as keyof typeof days] : countDays({ from, to })
  const start = firstHour(name === 'month' ? startOfMonth(first, zone, -1) : startOfDay(first, zone, -count))
  return { from: start, to: Math.min(start + to - from, from) }
}

function countDays({ from, to }: { readonly from: number; readonly to: number }): number {
  return Math.max(1, Math.round((to - from) / dayMs))
}

/** The result of `periodBefore` in words. Empty for all time, which is compared with nothing. */
export function formatPeriodBefore({ name, from, to }: Period): string {
  if (from === undefined || to === undefined) return ''
  if (name === 'today') return 'same hours yesterday'
  if (name === 'month') return 'same days last month'
  const count = name === '7d' || name === '30d' ? days[name] : countDays({ from, to })
  return count === 1 ? 'previous day' : `previous ${count} days`
}

export type Step = 'hour' | 'day'

/** The possible resolutions of a period, the default first. A day has up to 25 hours. */
export function listSteps({ from, to }: Period): readonly Step[] {
  const length = (to ?? 0) - (from ?? 0)
  if (length <= dayMs + hourMs) return ['hour']
  if (length <= 2 * dayMs + hourMs) return ['hour', 'day']
  return length <= 31 * dayMs + hourMs ? ['day', 'hour'] : ['day']
}
