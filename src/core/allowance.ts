/**
 * What a payment buys.
 *
 * "One request", "five megabytes" and "an hour" differ only in what runs out, so every price is sold as an allowance:
 * a number and the unit it is counted in. The ledger then needs one rule.
 */
export const units = ['request', 'byte', 'second'] as const
export type Unit = (typeof units)[number]

export interface Allowance {
  readonly unit: Unit
  readonly amount: bigint
}

export const oneRequest: Allowance = { unit: 'request', amount: 1n }
