import { afterEach, describe, expect, it } from 'vitest'
import { readPeriod } from '../../look/periods.ts'
import { hourMs } from '../../look/times.ts'
import { listAmounts, listTicks, measureEdge } from './axis.ts'

const own = process.env['TZ']
afterEach(() => {
  if (own === undefined) delete process.env['TZ']
  else process.env['TZ'] = own
})

const hoursOf = (name: string, query: string, now: string) => {
  process.env['TZ'] = name
  const { from = 0, to = 0 } = readPeriod(new URLSearchParams(query), Date.parse(now), 'local')
  return Array.from({ length: (to - from) / hourMs }, (_, index) => from + index * hourMs)
}
const labels = (times: readonly number[], most: number) =>
  listTicks({ times, step: 'hour', most, zone: 'local', locale: 'en-US' }).map(({ label }) => label)

describe('the time axis', () => {
  it.each([
    ['UTC', ['Jan 31', '03:00', '06:00', '09:00', '12:00']],
    ['America/New_York', ['Jan 31', '02:00', '04:00', '06:00']],
    ['Asia/Kolkata', ['Jan 31', '03:30', '07:30', '11:30', '15:30']],
    ['Asia/Kathmandu', ['Jan 31', '03:45', '07:45', '11:45', '15:45']],
    ['America/St_Johns', ['Jan 31', '01:30', '03:30', '05:30', '07:30']],
  ])('names the day once and then hours in %s', (name, expected) => {
    expect(labels(hoursOf(name, 'period=today', '2026-01-31T12:34:56Z'), 5)).toEqual(expected)
  })

  it.each([
    'UTC',
    'America/New_York',
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'Australia/Lord_Howe',
    'Europe/Berlin',
    'America/Santiago',
  ])('repeats no label over a week of hours in %s, also when the clocks change', (name) => {
    for (const day of ['2026-03-31', '2026-04-07', '2026-09-08', '2026-10-27'])
      for (const most of [3, 7, 8]) {
        const shown = labels(hoursOf(name, '', `${day}T20:10:00Z`), most)
        expect([name, day, most, new Set(shown).size]).toEqual([name, day, most, shown.length])
        expect(shown.length).toBeLessThanOrEqual(most)
      }
  })

  it('shows an hour that the end of summer time repeats once', () => {
    const times = hoursOf('Europe/Berlin', 'period=custom&from=2026-10-25&to=2026-10-25', '2026-10-26T00:00:00Z')
    expect(times).toHaveLength(25)
    expect(labels(times, 13)).toEqual([
      ...['Oct 25', '02:00', '04:00', '06:00', '08:00', '10:00', '12:00', '14:00', '16:00', '18:00', '20:00', '22:00'],
    ])
  })

  it('thins out days', () => {
    const times = Array.from({ length: 30 }, (_, index) => Date.UTC(2026, 0, 1 + index))
    const shown = listTicks({ times, step: 'day', most: 6, zone: 'utc', locale: 'en-US' })
    expect(shown.map(({ index, label }) => `${index} ${label}`)).toEqual([
      ...['0 Jan 1', '5 Jan 6', '10 Jan 11', '15 Jan 16', '20 Jan 21', '25 Jan 26'],
    ])
  })
})

describe('the amounts beside the axis', () => {
  it.each([
    [0, 0, [0, 0.25, 0.5, 0.75, 1]],
    [0, 88.2, [0, 25, 50, 75, 100]],
    [0, 4, [0, 1, 2, 3, 4]],
    [-3, 9, [-5, 0, 5, 10]],
    [0, 0.0012, [0, 0.0005, 0.001, 0.0015]],
  ])('from %d to %d are round', (least, most, expected) => {
    expect(listAmounts(least, most).map((one) => Number(one.toPrecision(6)))).toEqual(expected)
  })

  it('have the room of the longest, and the same room if all are short', () => {
    const measure = (label: string) => label.length * 6.6
    expect(measureEdge(['0', '25', '50'], measure)).toBe(52)
    expect(measureEdge(['0', '0.00025', '0.00075'], measure)).toBe(59)
    expect(measureEdge([], measure)).toBe(52)
  })
})
