/**
 * The period of the figures: the last day, week or month, certain days, or all time. Its ends are whole hours, because
 * sums are kept by the hour.
 */
import { dayMs, hourMs, readDay, startOfDay, type Zone } from './times.ts'

const periodNames = ['24h', '7d', '30d', 'all', 'custom'] as const
export type PeriodName = (typeof periodNames)[number]

export interface Period {
  readonly name: PeriodName
  /** Milliseconds since 1970; undefined for all time. */
  readonly from: number | undefined
  readonly to: number | undefined
}

const days = { '7d': 7, '30d': 30 } as const

/** The period of a query; `usual` if the query has no valid one. */
export function readPeriod(query: URLSearchParams, now: number, zone: Zone, usual: PeriodName): Period {
  const asked = periodNames.find((name) => name === query.get('period')) ?? usual
  const to = Math.floor(now / hourMs) * hourMs + hourMs
  if (asked === 'custom') {
    const [first, last] = [readDay(query.get('from') ?? '', zone), readDay(query.get('to') ?? '', zone)]
    if (first !== undefined && last !== undefined && first <= last)
      return { name: 'custom', from: first, to: startOfDay(last, zone, 1) }
  }
  if (asked === 'all') return { name: 'all', from: undefined, to: undefined }
  if (asked === '24h') return { name: '24h', from: to - dayMs, to }
  const name = asked === 'custom' ? '7d' : asked
  return { name, from: startOfDay(now, zone, 1 - days[name]), to }
}

/** The preceding period of the same length. */
export function periodBefore({ from, to }: Period): { readonly from: number; readonly to: number } | undefined {
  return from === undefined || to === undefined ? undefined : { from: 2 * from - to, to: from }
}

export function periodWords({ name, from, to }: Period): string {
  if (name === '24h') return '24 hours'
  if (name === '7d' || name === '30d') return `${days[name]} days`
  if (from === undefined || to === undefined) return 'all time'
  const count = Math.round((to - from) / dayMs)
  return count === 1 ? 'day' : `${count} days`
}

export type Step = 'hour' | 'day'

/** The possible resolutions of a period, the default first. The service returns at most 2,000 points. */
export function listSteps({ from, to }: Period): readonly Step[] {
  const length = (to ?? 0) - (from ?? 0)
  if (length <= dayMs) return ['hour']
  if (length <= 2 * dayMs) return ['hour', 'day']
  return length <= 31 * dayMs ? ['day', 'hour'] : ['day']
}
