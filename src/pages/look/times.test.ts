import { describe, expect, it } from 'vitest'
import { chooseLocale } from './locale.ts'
import {
  dayMs,
  formatExact,
  formatMoment,
  formatRelative,
  formatStart,
  hourMs,
  readDay,
  startOfDay,
  writeDay,
} from './times.ts'

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

describe('the start of a time span', () => {
  it.each([
    ['2026-01-31T13:41:00.000Z', '13:41'],
    ['2026-01-31T13:41:47.197Z', '13:42'],
    ['2026-01-31T23:59:30.000Z', 'Feb 1, 00:00'],
    ['2026-12-03T13:41:00.000Z', 'Dec 3, 13:41'],
  ])('%s is shown as %s', (at, shown) => {
    expect(formatStart(Date.parse(at), now, 'utc', 'en-US')).toBe(shown)
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

describe('languages', () => {
  it.each([
    ['de-ch', 'de-CH'],
    ['en-US@posix', 'en-US'],
    ['C', 'en-US'],
    [undefined, 'en-US'],
  ])('%s is written as %s', (language, locale) => {
    expect(chooseLocale(language)).toBe(locale)
  })
})
