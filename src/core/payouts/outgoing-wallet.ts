/**
 * The chain operations with which a worker sends money. A transaction is signed once, stored, and sent repeatedly until
 * its outcome is known.
 */
import type { Mint } from '../money/tokens.ts'
import type { Effect } from '../payment/verify.ts'

/** One of several transfers in a transaction. */
export interface OutgoingTransfer {
  /** The receiving wallet. For a mint, the tokens go to its associated token account. */
  readonly owner: string
  readonly units: bigint
  /** Opens that account first, at the sender's expense. */
  readonly opens: boolean
}

export interface TransferOrder {
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly transfers: readonly OutgoingTransfer[]
  readonly memo: string
  /** How often this order was signed before without landing. Each attempt may double the fee, up to the limit. */
  readonly attempts?: number
}

/** A signed transaction that is not sent yet. */
export interface SignedBytes {
  readonly wire: Uint8Array
  readonly signature: string
  readonly lastValidBlockHeight: number
  /**
   * The slot in which its blockhash was read. A node with a history that begins later cannot tell that it never landed.
   */
  readonly slot: number
}

export type Signing =
  | { readonly kind: 'signed'; readonly signed: SignedBytes }
  /**
   * The transaction would fail: too little money, too many transfers, or an account that accepts nothing. `transfer` is
   * the index of the transfer that its receiver makes impossible. Without it, no receiver is the cause. `why` names
   * only the sender.
   */
  | { readonly kind: 'impossible'; readonly why: string; readonly transfer?: number }
  | { readonly kind: 'unavailable'; readonly why: string }

/** The outcome of a signed transaction. Only `expired` and `failed` allow a replacement. */
export type Outcome =
  /** In a finalized block. */
  | { readonly kind: 'landed'; readonly slot: number }
  | { readonly kind: 'failed'; readonly slot: number; readonly why: string }
  /** No node that would know it has it, and it can no longer land. */
  | { readonly kind: 'expired' }
  /** `isThere`: every node has it in a block that is not final yet, so it need not be sent again for now. */
  | { readonly kind: 'open'; readonly why: string; readonly isThere?: boolean }

/**
 * `missing`: it can be opened. `frozen`: the issuer froze it, or a new account would be frozen. `unusable`: it has
 * another owner, or a plain transfer is not sufficient, for example because it requires a memo.
 */
export type AccountState = 'ready' | 'missing' | 'frozen' | 'unusable'

export interface Holdings {
  readonly lamports: bigint
  /** Base units by mint, in the requested order. */
  readonly units: readonly bigint[]
}

export interface OutgoingWalletLimits {
  /** The maximum fee of one transaction in lamports, without the rent of accounts. */
  readonly maxFeeLamports?: bigint
}

/**
 * Sends from one wallet. The results `unavailable` and undefined mean that the state is unknown; the caller asks again.
 */
export interface OutgoingWallet {
  readonly wallet: string
  holdings(mints: readonly Mint[]): Promise<Holdings | undefined>
  /** States of the wallets' accounts for a mint. For SOL, all are ready. */
  readAccounts(owners: readonly string[], mint: Mint | undefined): Promise<readonly AccountState[] | undefined>
  /** The cost of opening a token account, in lamports. */
  openingCost(mint: Mint): Promise<bigint | undefined>
  /**
   * How many of these transfers, counted from the first, fit into one transaction. Every receiver counts as a different
   * one.
   */
  fit(order: TransferOrder): number
  /** Builds, simulates and signs a transaction. It sends nothing, and no node sees a signature. */
  sign(order: TransferOrder): Promise<Signing>
  /** Can be repeated: the chain executes the same bytes once. The result tells nothing about the outcome. */
  send(signed: SignedBytes): Promise<Posting>
  readOutcome(signed: SignedBytes): Promise<Outcome>
  /** The effects of a final transaction, confirmed by two nodes if two are configured. Undefined if they do not agree. */
  read(signature: string): Promise<Effect | undefined>
}

/** `rejected`: the node reports that it did not forward it. Only expiry proves that it never lands. */
export type Posting = { readonly kind: 'sent' } | { readonly kind: 'rejected' | 'unknown'; readonly why: string }

/** A final transaction that names a wallet and has memos. */
export interface ListedTransaction {
  readonly signature: string
  readonly slot: number
  readonly memos: string
}

/** The final transactions after one slot, complete up to another. */
export interface TransactionList {
  readonly slot: number
  readonly transactions: readonly ListedTransaction[]
}

/** A blockhash, and the slot in which it was read. */
export interface RecentBlockhash {
  readonly blockhash: string
  readonly slot: number
}

/**
 * The transactions of a wallet, as the chain knows them. The result undefined means that the nodes do not tell; the
 * caller asks again.
 */
export interface WalletHistory {
  readonly wallet: string
  /** Confirmed by two nodes if two are configured. After slot 0, as far as the nodes keep their history. */
  list(after: number): Promise<TransactionList | undefined>
  /** Whether the wallet signed a successful transaction and paid its fee. */
  hasSent(signature: string): Promise<boolean | undefined>
  /** The latest blockhash. */
  readBlockhash(): Promise<RecentBlockhash | undefined>
  /** A final slot at which no transaction with this blockhash, or an earlier one, can land any more. */
  readExpiry(recent: RecentBlockhash): Promise<number | undefined>
}
