/** The journal as a port: observed payments, their finality, and the rates that were in force. */
import type { JournaledRates } from '../money/rates.ts'
import type { TokenCode } from '../money/tokens.ts'

/** A payment to a watched address as the chain shows it, whether or not anybody ever brings a proof of it. */
export interface Sighting {
  readonly tx: Uint8Array
  readonly recipient: string
  /** Pseudonym of the requestId in its memo; empty when no memo is one of ours. */
  readonly request: string
  /** Pseudonym of who sent it. */
  readonly payer: string
  readonly token: TokenCode
  readonly received: bigint
  /** 0 for one that a genuine proof named and no node has shown yet. */
  readonly slot: number
  readonly paidAt: number
  /** What it is for, where its memo is one of ours and the service knows. */
  readonly endpoint: string
  /** Until when a proof of it can be accepted; 0 where its memo is none of ours. */
  readonly claimableUntil: number
  /** What its requestId asks for in this token; undefined where it is none of ours, or does not take the token. */
  readonly required: bigint | undefined
  /** Until when it had to be paid; 0 where its memo is none of ours. */
  readonly payableUntil: number
}

/** The last payment up to which an address was read. */
export interface Mark {
  readonly signature: string
  readonly slot: number
}

/** A registered payment that the chain might still take back. */
export interface Unfinal {
  readonly tx: Uint8Array
  readonly slot: number
}

export interface Conclusion {
  readonly tx: Uint8Array
  readonly finality: 'finalized' | 'reverted'
}

/** What somebody would lose, or have got for nothing, if the chain took back all that is not final yet. */
export interface Exposure {
  readonly recipient: string
  readonly payer: string
  readonly token: TokenCode
  readonly units: bigint
}

/** What the service writes down about payments besides their use. Throws `LedgerUnavailable` as the ledger does. */
export interface Journal {
  /** Up to where the payments to an address were read; undefined when it is new. */
  mark(address: string): Promise<Mark | undefined>
  /** Notes payments and how far an address was read, in one step. Answers those that nobody had noted before. */
  sight(
    sightings: readonly Sighting[],
    read?: { readonly address: string; readonly mark: Mark },
  ): Promise<readonly Sighting[]>
  /** Payments seen on chain for which no proof was ever accepted, the latest first. */
  unclaimed(most: number): Promise<readonly Sighting[]>
  /** The oldest first, from a slot on. */
  unfinal(most: number, fromSlot?: number): Promise<readonly Unfinal[]>
  /** Writes down what became of payments. Answers those that were open until now. */
  conclude(conclusions: readonly Conclusion[]): Promise<readonly Conclusion[]>
  exposure(): Promise<readonly Exposure[]>
}

/** The rates that all servers on a ledger have believed, from when on. Entries are kept for `ratesKeptMs`. */
export interface RateJournal {
  /** Writes down what a feed says from now on. Nothing is written where it says the same as before. */
  note(rates: Omit<JournaledRates, 'at'>): Promise<void>
  /**
   * The rates that hold for a payment at a time. These are the ones in force then. Where they lack a rate for one of the
   * tokens, the first ones after that which have it; where there are none, those in force after all.
   *
   * A feed that is newer than the time has none in force at it, because another source was configured then: so the rates of
   * all feeds of the same use (the name up to the slash) are looked through, for some that have all tokens.
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

/** Longer than anybody can wait with the proof of a payment: 40 days. */
export const ratesKeptMs = 40 * 86_400_000
