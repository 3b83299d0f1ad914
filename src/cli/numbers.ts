/** Numbers from the command line. */
import { megabyte } from '../core/money/price.ts'
import { mostBytesAhead } from '../core/payment/allowance.ts'
import { usage } from './output.ts'

/** A whole number within limits; undefined if it was not given. */
export function readWhole(option: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw usage(`${option} must be a whole number from ${least} to ${most}, not "${text}".`)
}

/** Converts megabytes to bytes; undefined if they were not given. */
export function readMegabytes(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const bytes = /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Math.round(Number(text) * Number(megabyte)) : 0
  if (bytes >= 1 && bytes <= mostBytesAhead) return bytes
  throw usage(`${option} must be a number of megabytes, such as 5 or 0.5, not "${text}".`)
}
