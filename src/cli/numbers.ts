/** Numbers from the command line. */
import { usage } from './output.ts'

/** A whole number within limits, or undefined when it was not given. */
export function readWhole(option: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw usage(`${option} must be a whole number from ${least} to ${most}, not "${text}".`)
}
