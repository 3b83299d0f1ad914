/** Describes allowances and their remainders in words. */

import type { AllowanceLeft, Offered } from '../core/payment/allowance.ts'
import { counted } from './output.ts'

/** "100 requests", "1 hour", "5 MB", "this file (10 MB)". */
export function boughtText({ unit, amount }: Offered): string {
  switch (unit) {
    case 'request':
      return counted(amount, 'request')
    case 'second':
      return durationText(amount)
    case 'byte':
      return bytesText(amount)
    case 'file':
      return `this file (${bytesText(amount)})`
  }
}

/** Undefined for one request, which ends with its response, and for a file, because the download shows it. */
export function leftText({ unit, remaining, until }: AllowanceLeft): string | undefined {
  const end = until === undefined || remaining === 0 ? '' : `, good until ${until}`
  switch (unit) {
    case 'request':
      return until === undefined ? undefined : `${counted(remaining, 'request')} left${end}`
    case 'second':
      return `${durationText(remaining)} left${end}`
    case 'byte':
      return `${bytesText(remaining)} left before this response${end}`
    case 'file':
      return undefined
  }
}

const durations = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

function durationText(seconds: number): string {
  const [size, name] = durations.find(([length]) => seconds % length === 0) ?? [1, 'second']
  return counted(seconds / size, name)
}

const sizes = [
  [1_000_000_000, 'GB'],
  [1_000_000, 'MB'],
  [1_000, 'kB'],
] as const

export function bytesText(bytes: number): string {
  const size = sizes.find(([length]) => bytes >= length)
  return size ? `${Number((bytes / size[0]).toFixed(2))} ${size[1]}` : counted(bytes, 'byte')
}
