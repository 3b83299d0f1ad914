import { afterEach, describe, expect, it } from 'vitest'
import { dayOfHour, formatPeriodBefore, listEnds, listSteps, type Period, periodBefore, readPeriod } from './periods.ts'
import { dayMs, hourMs, writeDay, type Zone } from './times.ts'

const own = process.env['TZ']
afterEach(() => {
  if (own === undefined) delete process.env['TZ']
  else process.env['TZ'] = own
})

const text = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString().slice(0, 16))
const read = (query: string, now: string, zone: Zone = 'utc') =>
  readPeriod(new URLSearchParams(query), Date.parse(now), zone)
const tell = ({ name, from, to }: Period) => [name, text(from), text(to)]

describe('a period', () => {
  it.each([
    ['period=today', ['today', '2026-01-31T00:00', '2026-01-31T13:00']],
    ['', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
    ['period=24h', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
    ['period=30d', ['30d', '2026-01-02T00:00', '2026-01-31T13:00']],
    ['period=month', ['month', '2026-01-01T00:00', '2026-01-31T13:00']],
    ['period=all', ['all', '', '']],
    ['period=custom&from=2026-01-01&to=2026-01-01', ['custom', '2026-01-01T00:00', '2026-01-02T00:00']],
    ['period=custom&from=2026-01-09&to=2026-01-01', ['7d', '2026-01-25T00:00', '2026-01-31T13:00']],
  ])('of the address %j is read in UTC', (query, period) => {
    expect(tell(read(query, '2026-01-31T12:34:56Z'))).toEqual(period)
  })

  it.each([
    ['Asia/Kolkata', '2026-01-30T18:00', '2026-01-29T18:00'],
    ['Asia/Kathmandu', '2026-01-30T18:00', '2026-01-29T18:00'],
    ['America/St_Johns', '2026-01-31T03:00', '2026-01-30T03:00'],
    ['Pacific/Chatham', '2026-01-31T10:00', '2026-01-30T10:00'],
    ['America/New_York', '2026-01-31T05:00', '2026-01-30T05:00'],
    ['Pacific/Kiritimati', '2026-01-31T10:00', '2026-01-30T10:00'],
  ])('of one day starts at a full hour in %s, and its days are named correctly', (name, from, before) => {
    process.env['TZ'] = name
    const period = read('period=today', '2026-01-31T12:34:56Z', 'local')
    expect(text(period.from)).toBe(from)
    expect(text(periodBefore(period, 'local')?.from)).toBe(before)
    const day = writeDay(Date.parse('2026-01-31T12:34:56Z'), 'local')
    expect(listEnds(period, 0).map((at) => writeDay(at, 'local'))).toEqual([day, day])
    const again = read(`period=custom&from=${day}&to=${day}`, '2026-01-31T12:34:56Z', 'local')
    expect(again.from).toBe(period.from)
    expect((again.to ?? 0) - (again.from ?? 0)).toBe(dayMs)
  })

  it.each(['Asia/Kolkata', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/Berlin', 'America/Santiago', 'UTC'])(
    'of seven days has hours of exactly seven days in %s, also when the clocks change',
    (name) => {
      process.env['TZ'] = name
      for (const day of ['2026-03-29', '2026-04-05', '2026-10-25', '2026-09-06', '2026-06-15']) {
        const { from = 0, to = 0 } = read('', `${day}T18:45:00Z`, 'local')
        const hours = Array.from({ length: (to - from) / hourMs }, (_, index) => from + index * hourMs)
        expect([day, new Set(hours.map((hour) => dayOfHour(hour, 'local'))).size]).toEqual([day, 7])
      }
    },
  )

  it.each([
    ['period=today', '2026-01-30T00:00', '2026-01-30T13:00'],
    ['period=7d', '2026-01-18T00:00', '2026-01-24T13:00'],
    ['period=month', '2025-12-01T00:00', '2025-12-31T13:00'],
    ['period=custom&from=2026-01-05&to=2026-01-07', '2026-01-02T00:00', '2026-01-05T00:00'],
  ])('%s is compared with the same part of the period before', (query, from, to) => {
    const before = periodBefore(read(query, '2026-01-31T12:34:56Z'), 'utc')
    expect([text(before?.from), text(before?.to)]).toEqual([from, to])
  })

  it('is never compared with a part of itself, and all time with nothing', () => {
    const before = periodBefore(read('period=month', '2026-03-31T12:34:56Z'), 'utc')
    expect([text(before?.from), text(before?.to)]).toEqual(['2026-02-01T00:00', '2026-03-01T00:00'])
    expect(periodBefore(read('period=all', '2026-03-31T12:34:56Z'), 'utc')).toBeUndefined()
  })

  it('is compared in words with what its figures are compared with', () => {
    const of = (days: number) => ({ name: 'custom', from: 0, to: days * dayMs }) as const
    expect([of(1), of(3)].map(formatPeriodBefore)).toEqual(['previous day', 'previous 3 days'])
    const names = ['today', '7d', '30d', 'month', 'all'] as const
    expect(names.map((name) => formatPeriodBefore(read(`period=${name}`, '2026-01-31T12:34:56Z')))).toEqual([
      'same hours yesterday',
      'previous 7 days',
      'previous 30 days',
      'same days last month',
      '',
    ])
  })

  it('has steps that a service can give', () => {
    const of = (days: number) => ({ name: 'custom', from: 0, to: days * dayMs }) as const
    expect([of(1), of(2), of(7), of(90)].map(listSteps)).toEqual([['hour'], ['hour', 'day'], ['day', 'hour'], ['day']])
  })
})
