/** The coming phases of the moon as a calendar file (RFC 5545), an example of a download. */
import { moonAt } from './moon.ts'

const dayMs = 86_400_000
const months = 3

export function moonCalendar(now: number): string {
  const times = Array.from({ length: months }, (_, index) => now + index * 29.53 * dayMs)
  const events = new Map(times.flatMap((time) => moonAt(time).coming.map(({ phase, at }) => [at, phase] as const)))
  const stamp = (time: string) => time.replace(/[-:]/g, '').replace(/Z$/, '00Z')
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//paystile//demo//EN',
    ...[...events].flatMap(([at, phase]) => [
      'BEGIN:VEVENT',
      `UID:${stamp(at)}@paystile.demo`,
      `DTSTAMP:${stamp(at)}`,
      `DTSTART:${stamp(at)}`,
      `SUMMARY:${phase.charAt(0).toUpperCase()}${phase.slice(1)}`,
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
    '',
  ].join('\r\n')
}
