/** The journal as a port: observed payments, their finality, and the rates in force. */
import type { JournaledRates } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'

/** A payment to a watched address as seen on chain, with or without a proof. */
export interface Sighting {
  readonly tx: Uint8Array
  readonly recipient: string
  /** Pseudonym of the requestId in its memo. Empty if no memo is a requestId of this service. */
  readonly request: string
  /** Pseudonym of the sender. */
  readonly payer: string
  readonly token: TokenCode
  readonly received: bigint
  /** 0 for a payment that a genuine proof named and no node has shown yet. */
  readonly slot: number
  readonly paidAt: number
  /** The purchased endpoint, if the memo is a requestId of this service and the service knows the endpoint. */
  readonly endpoint: string
  /** The end of the claim period; 0 if the memo is not a requestId of this service. */
  readonly claimableUntil: number
  /**
   * The recipient's part of the price in this token, and the units that are missing in the parts of other wallets.
   * Undefined if the memo is not a requestId of this service, or the quote excludes the token.
   */
  readonly required: bigint | undefined
  /** The end of the payment period; 0 if the memo is not a requestId of this service. */
  readonly payableUntil: number
}

/** The last payment that was read at an address. */
export interface Mark {
  readonly signature: string
  readonly slot: number
}

/** A registered payment that is not final yet. */
export interface Unfinal {
  readonly tx: Uint8Array
  readonly slot: number
}

export interface Conclusion {
  readonly tx: Uint8Array
  readonly finality: 'finalized' | 'reverted'
}

/** The amounts at risk if the chain reverted all payments that are not final yet. */
export interface Exposure {
  readonly recipient: string
  readonly payer: string
  readonly token: TokenCode
  readonly units: bigint
}

/** The service's record of payments besides their use. Throws `LedgerUnavailable`, like the ledger. */
export interface Journal {
  /** The position up to which the payments to an address were read. Undefined for a new address. */
  mark(address: string): Promise<Mark | undefined>
  /**
   * Records payments and the position of an address in one step. Returns the payments that were not recorded before.
   */
  sight(
    sightings: readonly Sighting[],
    read?: { readonly address: string; readonly mark: Mark },
  ): Promise<readonly Sighting[]>
  /** Payments seen on chain without an accepted proof, the latest first. */
  unclaimed(most: number): Promise<readonly Sighting[]>
  /** The oldest first, starting at a slot. */
  unfinal(most: number, fromSlot?: number): Promise<readonly Unfinal[]>
  /** Records the outcomes of payments. Returns those that were open until now. */
  conclude(conclusions: readonly Conclusion[]): Promise<readonly Conclusion[]>
  exposure(): Promise<readonly Exposure[]>
}

/** The rates that the servers on a ledger accepted, with their start times. Entries are kept for `ratesKeptMs`. */
export interface RateJournal {
  /** Records the rates of a feed from now on. Unchanged rates are not written. */
  note(rates: Omit<JournaledRates, 'at'>): Promise<void>
  /**
   * Finds the rates that apply to a payment at a time: those in force then. If they lack a rate for one of the tokens,
   * the first later rates that have it apply; if there are none, the rates in force apply after all.
   *
   * A feed that is newer than the time has no rates in force at it, because another source was configured then. In that
   * case the rates of all feeds with the same use (the name up to the slash) are searched for ones that have all
   * tokens.
   */
  find(query: RateQuery): Promise<JournaledRates | undefined>
}

export interface RateQuery {
  /** `use/name`. */
  readonly feed: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly tokens: readonly TokenCode[]
}

/** Longer than any claim period: 40 days. */
export const ratesKeptMs = 40 * 86_400_000
