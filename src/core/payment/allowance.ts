/**
 * What a payment buys.
 *
 * "One request", "five megabytes" and "an hour" differ only in what runs out, so every price is sold as an allowance:
 * a number and the unit it is counted in. The ledger then needs one rule.
 *
 * A `byte` is any byte, and gone when it was sent. A `file` is one representation of so many bytes, of which each may be
 * sent a few times, so that a broken download goes on where it broke.
 */
export const units = ['request', 'byte', 'second', 'file'] as const
export type Unit = (typeof units)[number]

export interface Allowance {
  readonly unit: Unit
  readonly amount: bigint
}

export const oneRequest: Allowance = { unit: 'request', amount: 1n }

/** Whether it is used up by one request. Anything else is worth stealing more than once, and needs a proof of one's own. */
export function isOneRequest({ unit, amount }: Allowance | Offered): boolean {
  return unit === 'request' && BigInt(amount) === 1n
}

/** Whether different requests may use it up together. A file is sent in many, but they are all for the file. */
export function isShared(allowance: Allowance | Offered): boolean {
  return allowance.unit !== 'file' && !isOneRequest(allowance)
}

export const megabyte = 1_000_000n
/** The most that is sold ahead: a terabyte. */
export const mostBytesAhead = 1_000_000n * megabyte

/** The price of so many bytes at a price per megabyte, rounded up by less than one base unit. */
export function computePriceOfBytes(perMegabyte: bigint, bytes: bigint): bigint {
  return (perMegabyte * bytes + megabyte - 1n) / megabyte
}

export const allowanceHeader = 'Payment-Allowance'

/** What a paid answer says of the rest. A number, unlike an amount of money, holds any of it exactly. */
export interface AllowanceLeft {
  readonly unit: Unit
  /** Requests after this one, seconds, or bytes before the body of this answer. */
  readonly remaining: number
  /** RFC 3339. */
  readonly until?: string
}

/** Writes `Payment-Allowance`. */
export function formatAllowanceLeft(left: Omit<AllowanceLeft, 'remaining'> & { readonly remaining: bigint }): string {
  const { unit, remaining, until } = left
  return `unit=${unit}; remaining=${remaining}${until === undefined ? '' : `; until=${until}`}`
}

/** Reads `Payment-Allowance`. Undefined for anything that is not one. */
export function parseAllowanceLeft(header: string | null): AllowanceLeft | undefined {
  const pairs = (header ?? '').split(';').map((part) => part.trim().split('=', 2))
  const { unit, remaining = '', until = '' }: Record<string, string | undefined> = Object.fromEntries(pairs)
  if (!isUnit(unit) || !/^\d{1,15}$/.test(remaining)) return undefined
  return { unit, remaining: Number(remaining), ...(Number.isFinite(Date.parse(until)) && { until }) }
}

/** What a challenge offers, in numbers that can be counted with. */
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

/** How many bytes of a metered response are reserved at first. Later slices grow. */
export const firstSlice = 65_536n
