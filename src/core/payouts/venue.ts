/** Where one token is exchanged for another: a venue says what it gives, and helps to make one transaction of it. */
import type { Mint } from '../money/tokens.ts'
import type { Signing } from './outgoing-wallet.ts'

export interface SwapOrder {
  /** Undefined for SOL, in both. */
  readonly sell: Mint | undefined
  readonly buy: Mint | undefined
  /** Of what is sold. */
  readonly units: bigint
  /** How much less than quoted may come, in hundredths of a percent; venues whose quotes are exact take none of it. */
  readonly slippageBps: number
}

export interface VenueQuote {
  readonly order: SwapOrder
  /** What is to come, and the least that the venue promises; the same where its quotes are exact. */
  readonly units: bigint
  readonly least: bigint
  /** What the venue needs to know again when it signs. */
  readonly ticket: unknown
}

export type Quoting =
  | { readonly kind: 'quoted'; readonly quote: VenueQuote }
  /** It does not trade that, or not so much. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** A venue for one wallet. It holds nothing: either both sides of an exchange happen, or none does. */
export interface Venue {
  readonly name: string
  quote(order: SwapOrder): Promise<Quoting>
  /**
   * Builds the transaction, has it signed by all, and tries it out: it would give the wallet at least `minimum`, and take
   * no more than was ordered. Nothing is sent.
   */
  sign(quote: VenueQuote, terms: { readonly memo: string; readonly minimum: bigint }): Promise<Signing>
}
