/** What a worker needs of the chain to send money out: signed once, kept, sent as often as it takes, and its fate known. */
import type { Mint } from '../money/tokens.ts'
import type { Effect } from '../payment/verify.ts'

/** One of several transfers in a transaction. */
export interface OutgoingTransfer {
  /** The wallet that gets it; of a mint, its associated token account. */
  readonly owner: string
  readonly units: bigint
  /** Opens that account first, at the sender's cost. */
  readonly opens: boolean
}

export interface TransferOrder {
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly transfers: readonly OutgoingTransfer[]
  readonly memo: string
  /** How often the same was signed before without landing: each time it may cost twice as much, up to its limit. */
  readonly attempts?: number
}

/** A signed transaction that is not sent yet. */
export interface SignedBytes {
  readonly wire: Uint8Array
  readonly signature: string
  readonly lastValidBlockHeight: number
  /** The slot in which its block was read. */
  readonly slot: number
}

export type Signing =
  | { readonly kind: 'signed'; readonly signed: SignedBytes }
  /**
   * It would fail: too little money, too many transfers, an account that takes nothing. `transfer` is the place of the one
   * that cannot be made for reasons of who gets it; without it nobody of them is to blame. `why` names nobody but the sender.
   */
  | { readonly kind: 'impossible'; readonly why: string; readonly transfer?: number }
  | { readonly kind: 'unavailable'; readonly why: string }

/** What became of a signed transaction. Only `expired` and `failed` allow another in its place. */
export type Outcome =
  /** In a block that can no longer be taken back. */
  | { readonly kind: 'landed'; readonly slot: number }
  | { readonly kind: 'failed'; readonly slot: number; readonly why: string }
  /** It is on no node that would know of it, and can no longer land. */
  | { readonly kind: 'expired' }
  /** `isThere`: every node has it in a block that is not final yet, so that it need not be sent again for now. */
  | { readonly kind: 'open'; readonly why: string; readonly isThere?: boolean }

/**
 * `missing` can be opened. `frozen`: by the issuer, or it would be as soon as it is opened. `unusable`: another owner, or it
 * takes nothing without more than a transfer, such as a memo of its own.
 */
export type AccountState = 'ready' | 'missing' | 'frozen' | 'unusable'

export interface Holdings {
  readonly lamports: bigint
  /** Base units by mint, in the order asked for. */
  readonly units: readonly bigint[]
}

export interface OutgoingWalletLimits {
  /** What one transaction may cost at the most, in lamports, without the rent of accounts. */
  readonly maxFeeLamports?: bigint
}

/** Sends from one wallet. What it answers `unavailable` or undefined is not known, and is asked again. */
export interface OutgoingWallet {
  readonly wallet: string
  holdings(mints: readonly Mint[]): Promise<Holdings | undefined>
  /** Of wallets, for a mint; for SOL all are ready. */
  readAccounts(owners: readonly string[], mint: Mint | undefined): Promise<readonly AccountState[] | undefined>
  /** What opening a token account costs, in lamports. */
  openingCost(mint: Mint): Promise<bigint | undefined>
  /** How many of these, from the first on, go into one transaction. Who gets them does not matter: all count as different. */
  fit(order: TransferOrder): number
  /** Builds, tries it out and signs. Nothing is sent, and no node has seen a signature that could be. */
  sign(order: TransferOrder): Promise<Signing>
  /** As often as one likes: on chain the same bytes count once. What it answers says nothing about their fate. */
  send(signed: SignedBytes): Promise<Posting>
  readOutcome(signed: SignedBytes): Promise<Outcome>
  /** What a final transaction did, as two nodes say where there are two. `missing`: they have none of that name, or none any more. */
  read(signature: string): Promise<Effect | 'missing' | undefined>
}

export type Posting = { readonly kind: 'sent' } | { readonly kind: 'rejected' | 'unknown'; readonly why: string }
