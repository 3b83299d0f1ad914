/** Times and periods in words, in the local time zone or in UTC. */
import { openDateFormat, openRelativeFormat } from './formats.ts'

export type Zone = 'local' | 'utc'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

const steps = [
  ['second', 1_000, 60_000],
  ['minute', 60_000, hourMs],
  ['hour', hourMs, dayMs],
  ['day', dayMs, 30 * dayMs],
  ['month', 30 * dayMs, 365 * dayMs],
  ['year', 365 * dayMs, Number.POSITIVE_INFINITY],
] as const

/** A time slightly in the future counts as now, because clocks differ. */
export function formatRelative(at: number, now: number, locale: string): string {
  const ago = now - at
  const words = openRelativeFormat(locale)
  if (ago < 5_000 && ago > -60_000) return words.format(0, 'second')
  const [unit, ms] = steps.find(([, , below]) => Math.abs(ago) < below) ?? steps[0]
  return words.format(-Math.trunc(ago / ms), unit)
}

const inZone = (zone: Zone) => (zone === 'utc' ? { timeZone: 'UTC' } : {})

export function formatExact(at: number, zone: Zone, locale: string): string {
  return openDateFormat(locale, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...inZone(zone),
  }).format(at)
}

/** Short enough for a column. */
export function formatMoment(at: number, zone: Zone, locale: string): string {
  const date = { day: 'numeric', month: 'short' } as const
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
  return openDateFormat(locale, { ...date, ...time, ...inZone(zone) }).format(at)
}

export function formatDay(at: number, zone: Zone, locale: string): string {
  return openDateFormat(locale, { day: 'numeric', month: 'short', ...inZone(zone) }).format(at)
}

export function formatDate(at: number, zone: Zone, locale: string): string {
  return openDateFormat(locale, { day: 'numeric', month: 'short', year: 'numeric', ...inZone(zone) }).format(at)
}

export function formatHour(at: number, zone: Zone, locale: string): string {
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return openDateFormat(locale, { ...time, ...inZone(zone) }).format(at)
}

const minuteMs = 60_000

/** The first whole minute from this time on, with its day if that is not today. */
export function formatStart(at: number, now: number, zone: Zone, locale: string): string {
  const minute = Math.ceil(at / minuteMs) * minuteMs
  const hour = formatHour(minute, zone, locale)
  return writeDay(minute, zone) === writeDay(now, zone) ? hour : `${formatDay(minute, zone, locale)}, ${hour}`
}

/** The midnight at or before this time, plus `days`. */
export function startOfDay(at: number, zone: Zone, days = 0): number {
  const date = new Date(at)
  if (zone === 'utc') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime()
}

/** The first midnight of the month of this time, plus `months`. */
export function startOfMonth(at: number, zone: Zone, months = 0): number {
  const date = new Date(at)
  if (zone === 'utc') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months)
  return new Date(date.getFullYear(), date.getMonth() + months).getTime()
}

/** The hour of the day, 0 to 23. */
export function readHour(at: number, zone: Zone): number {
  const date = new Date(at)
  return zone === 'utc' ? date.getUTCHours() : date.getHours()
}

/** `2026-01-31` as the midnight at the start of that day in this zone. */
export function readDay(text: string, zone: Zone): number | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!match) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]) - 1, Number(match[3])]
  const at = zone === 'utc' ? Date.UTC(year, month, day) : new Date(year, month, day).getTime()
  return writeDay(at, zone) === text ? at : undefined
}

export function writeDay(at: number, zone: Zone): string {
  const date = new Date(at)
  const [year, month, day] =
    zone === 'utc'
      ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
      : [date.getFullYear(), date.getMonth(), date.getDate()]
  return `${String(year).padStart(4, '0')}-${String(month + 1).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}
