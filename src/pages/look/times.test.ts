import { describe, expect, it } from 'vitest'
import { chooseLocale, mendLanguage } from './locale.ts'
import { listSteps, periodBefore, periodWords, readPeriod } from './periods.ts'
import { dayMs, formatExact, formatMoment, formatRelative, hourMs, readDay, startOfDay, writeDay } from './times.ts'

const now = Date.parse('2026-01-31T12:34:56.000Z')

describe('moments', () => {
  it.each([
    [0, 'now'],
    [-30_000, 'now'],
    [20_000, '20 sec. ago'],
    [3 * 60_000, '3 min. ago'],
    [5 * hourMs, '5 hr. ago'],
    [dayMs, 'yesterday'],
    [12 * dayMs, '12 days ago'],
    [70 * dayMs, '2 mo. ago'],
    [800 * dayMs, '2 yr. ago'],
  ])('%i ms ago is %s', (ms, words) => {
    expect(formatRelative(now - ms, now, 'en-US')).toBe(words)
  })

  it('are exact in UTC', () => {
    expect(formatExact(now, 'utc', 'en-US')).toBe('Jan 31, 2026, 12:34:56 UTC')
    expect(formatMoment(now, 'utc', 'en-US')).toBe('Jan 31, 12:34:56')
  })
})

describe('days', () => {
  it.each(['2026-01-31', '2024-02-29', '1999-12-31'])('%s is read as it is written', (text) => {
    for (const zone of ['utc', 'local'] as const) expect(writeDay(readDay(text, zone) ?? 0, zone)).toBe(text)
  })

  it.each(['2026-02-30', '2026-1-1', 'today', ''])('%s is no day', (text) => {
    expect(readDay(text, 'utc')).toBeUndefined()
  })

  it('begin at midnight', () => {
    expect(new Date(startOfDay(now, 'utc')).toISOString()).toBe('2026-01-31T00:00:00.000Z')
    expect(new Date(startOfDay(now, 'utc', -30)).toISOString()).toBe('2026-01-01T00:00:00.000Z')
  })
})

describe('periods', () => {
  const read = (query: string) => {
    const { name, from, to } = readPeriod(new URLSearchParams(query), now, 'utc', '7d')
    const text = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString().slice(0, 16))
    return [name, text(from), text(to)]
  }

  it.each([
    ['period=24h', ['24h', '2026-01-30T13:00', '2026-01-31T13:00']],
    ['', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
    ['period=forever', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
    ['period=30d', ['30d', '2026-01-02T00:00', '2026-01-31T13:00']],
    ['period=all', ['all', '', '']],
    ['period=custom&from=2026-01-01&to=2026-01-01', ['custom', '2026-01-01T00:00', '2026-01-02T00:00']],
    ['period=custom&from=2026-01-09&to=2026-01-01', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
  ])('%s', (query, period) => {
    expect(read(query)).toEqual(period)
  })

  it('have one of the same length before them, if they begin', () => {
    expect(periodBefore({ name: '24h', from: 1_000, to: 1_400 })).toEqual({ from: 600, to: 1_000 })
    expect(periodBefore({ name: 'all', from: undefined, to: undefined })).toBeUndefined()
  })

  it('have names, and steps that a service can give', () => {
    const of = (days: number) => ({ name: 'custom', from: 0, to: days * dayMs }) as const
    expect([of(1), of(3)].map(periodWords)).toEqual(['day', '3 days'])
    expect([of(1), of(2), of(7), of(90)].map(listSteps)).toEqual([['hour'], ['hour', 'day'], ['day', 'hour'], ['day']])
  })
})

describe('languages', () => {
  it.each([
    ['de-ch', 'de-CH'],
    ['en-US@posix', 'en-US'],
    ['C', 'en-US'],
    [undefined, 'en-US'],
  ])('%s is written as %s', (language, locale) => {
    expect(chooseLocale(language)).toBe(locale)
  })

  it('are mended where Intl would throw at them', () => {
    const navigator = { language: 'en-US@posix' }
    mendLanguage(navigator)
    expect(new Intl.NumberFormat(navigator.language).format(1)).toBe('1')
  })
})
