/** Venues exchange one token for another. A venue quotes an amount and helps to build one transaction. */
import type { Mint } from '../money/tokens.ts'
import type { Signing } from './outgoing-wallet.ts'

export interface SwapOrder {
  /** Undefined for SOL, in both fields. */
  readonly sell: Mint | undefined
  readonly buy: Mint | undefined
  /** The amount to sell. */
  readonly units: bigint
  /** The allowed loss against the quote, in hundredths of a percent. Venues with exact quotes ignore it. */
  readonly slippageBps: number
}

export interface VenueQuote {
  readonly order: SwapOrder
  /** The expected amount and the venue's guaranteed minimum. Both are equal if the quote is exact. */
  readonly units: bigint
  readonly least: bigint
  /** Data that the venue needs again when it signs. */
  readonly ticket: unknown
}

/** `taker_balance`: the wallet holds too little of the sold token. `unknown_pair`: the venue never trades this pair. */
export const venueRefusalCodes = ['taker_balance', 'unknown_pair'] as const
export type VenueRefusalCode = (typeof venueRefusalCodes)[number]

export interface VenueRefusal {
  readonly kind: 'refused'
  readonly why: string
  readonly code?: VenueRefusalCode
}

export type Quoting =
  | { readonly kind: 'quoted'; readonly quote: VenueQuote }
  /** The venue does not trade this pair or this amount. */
  | VenueRefusal
  | { readonly kind: 'unavailable'; readonly why: string }

/** A venue for one wallet. It holds no funds: the exchange is atomic. */
export interface Venue {
  readonly name: string
  quote(order: SwapOrder): Promise<Quoting>
  /**
   * Builds the transaction, collects all signatures and simulates it. The result gives the wallet at least `minimum`
   * and takes no more than ordered. Nothing is sent.
   */
  sign(quote: VenueQuote, terms: { readonly memo: string; readonly minimum: bigint }): Promise<Signing>
}
