/**
 * The allowance: the amount that a payment buys.
 *
 * "One request", "five megabytes" and "an hour" differ only in the unit that is counted. Every price therefore sells an
 * allowance, a number and its unit, and the ledger needs one rule.
 *
 * A `byte` is any byte, and is used up when it is sent. A `file` is one representation of a given size. Each of its
 * bytes may be sent a few times, so that a broken download can resume.
 */
import { megabyte } from '../money/price.ts'

export const units = ['request', 'byte', 'second', 'file'] as const
export type Unit = (typeof units)[number]

export interface Allowance {
  readonly unit: Unit
  readonly amount: bigint
}

export const oneRequest: Allowance = { unit: 'request', amount: 1n }

/**
 * Whether one request uses it up. A larger allowance can be stolen repeatedly, so it needs a proof that only its buyer
 * can make.
 */
export function isOneRequest({ unit, amount }: Allowance | Offered): boolean {
  return unit === 'request' && BigInt(amount) === 1n
}

/** Whether different requests can share it. A file takes many requests, but all of them are for the same file. */
export function isShared(allowance: Allowance | Offered): boolean {
  return allowance.unit !== 'file' && !isOneRequest(allowance)
}

/** The maximum sold in advance: a terabyte. */
export const mostBytesAhead = 1_000_000n * megabyte

export const allowanceHeader = 'Payment-Allowance'

/**
 * The rest of an allowance, as reported by a paid response. A number holds every allowance exactly, unlike an amount of
 * money.
 */
export interface AllowanceLeft {
  readonly unit: Unit
  /** Requests after this one, seconds, or bytes before the body of this response. */
  readonly remaining: number
  /** RFC 3339. */
  readonly until?: string
}

export function formatAllowanceLeft(left: Omit<AllowanceLeft, 'remaining'> & { readonly remaining: bigint }): string {
  const { unit, remaining, until } = left
  return `unit=${unit}; remaining=${remaining}${until === undefined ? '' : `; until=${until}`}`
}

/** Reads `Payment-Allowance`. Undefined if it is malformed. */
export function parseAllowanceLeft(header: string | null): AllowanceLeft | undefined {
  const pairs = (header ?? '').split(';').map((part) => part.trim().split('=', 2))
  const { unit, remaining = '', until = '' }: Record<string, string | undefined> = Object.fromEntries(pairs)
  if (!isUnit(unit) || !/^\d{1,15}$/.test(remaining)) return undefined
  // `Date.parse` ignores any words in parentheses.
  const isTime = /^[\dTZ:.+-]+$/.test(until) && Number.isFinite(Date.parse(until))
  return { unit, remaining: Number(remaining), ...(isTime && { until }) }
}

/** The allowance of a challenge, in numbers for arithmetic. */
export interface Offered {
  readonly unit: Unit
  readonly amount: number
}

export function readOffered(
  value: { readonly unit: string; readonly amount: string } | undefined,
): Offered | undefined {
  if (!value || !isUnit(value.unit) || !/^[1-9]\d{0,14}$/.test(value.amount)) return undefined
  return { unit: value.unit, amount: Number(value.amount) }
}

function isUnit(text: string | undefined): text is Unit {
  return units.includes(text as Unit)
}

const smallestSlice = 4_096n
const slicesOfAllowance = 16n

/**
 * The most bytes of an allowance that a response holds before it sends them. Parallel responses share an allowance, so
 * none of them holds a large part that another one needs.
 */
export function largestSlice(amount: bigint): bigint {
  const part = amount / slicesOfAllowance
  return part > smallestSlice ? part : smallestSlice
}

const mostUsesOfSlice = 64n

/**
 * The uses of a bundle that a server holds at once, so that one durable write serves many uses. 0 if the remainder is
 * too small: then each use is taken alone.
 */
export function sliceOfUses(remainder: bigint): bigint {
  const part = remainder / slicesOfAllowance
  if (part < 2n) return 0n
  return part < mostUsesOfSlice ? part : mostUsesOfSlice
}

/** The number of bytes reserved at first for a metered response. Later slices grow. */
export function firstSlice(amount: bigint): bigint {
  const largest = largestSlice(amount)
  return largest < 65_536n ? largest : 65_536n
}
