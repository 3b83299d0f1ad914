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
export function isOneRequest({ unit, amount }: Allowance): boolean {
  return unit === 'request' && amount === 1n
}

export const megabyte = 1_000_000n

/** The price of so many bytes at a price per megabyte, rounded up by less than one base unit. */
export function priceOfBytes(perMegabyte: bigint, bytes: bigint): bigint {
  return (perMegabyte * bytes + megabyte - 1n) / megabyte
}
