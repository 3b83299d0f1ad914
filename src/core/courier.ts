/** What a worker needs of the chain to send money out: signed once, kept, sent as often as it takes, and its fate known. */
import type { Mint } from './network.ts'
import type { Posting } from './ports.ts'

/** One of several transfers in a transaction. */
export interface Transfer {
  /** The wallet that gets it; of a mint, its associated token account. */
  readonly owner: string
  readonly units: bigint
  /** Opens that account first, at the sender's cost. */
  readonly opens: boolean
}

export interface TransferOrder {
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly transfers: readonly Transfer[]
  readonly memo: string
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
  /** It would fail: too little money, too many transfers, an account that takes nothing. */
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** What became of a signed transaction. Only `expired` and `failed` allow another in its place. */
export type Outcome =
  /** In a block that can no longer be taken back. */
  | { readonly kind: 'landed'; readonly slot: number }
  | { readonly kind: 'failed'; readonly slot: number; readonly why: string }
  /** It is on no node that would know of it, and can no longer land. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'open'; readonly why: string }

/** `unusable`: another owner, or it takes nothing without more than a transfer. */
export type AccountState = 'ready' | 'missing' | 'frozen' | 'unusable'

export interface Holdings {
  readonly lamports: bigint
  /** Base units by mint, in the order asked for. */
  readonly units: readonly bigint[]
}

export interface CourierLimits {
  /** What one transaction may cost at the most, in lamports, without the rent of accounts. */
  readonly maxFeeLamports?: bigint
}

/** Sends from one wallet. What it answers `unavailable` or undefined is not known, and is asked again. */
export interface Courier {
  readonly wallet: string
  holdings(mints: readonly Mint[]): Promise<Holdings | undefined>
  /** Of wallets, for a mint; for SOL all are ready. */
  accountsOf(owners: readonly string[], mint: Mint | undefined): Promise<readonly AccountState[] | undefined>
  /** What opening a token account costs, in lamports. */
  openingCost(mint: Mint): Promise<bigint | undefined>
  /** How many of these, from the first on, go into one transaction. */
  fit(order: TransferOrder): number
  /** Builds and signs, and tries it out. Nothing is sent. */
  sign(order: TransferOrder): Promise<Signing>
  send(signed: SignedBytes): Promise<Posting>
  outcomeOf(signed: SignedBytes): Promise<Outcome>
}
