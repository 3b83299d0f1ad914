/**
 * Payments that another protocol's client signs and the service sends: the chain's part, and the ledger's record of
 * them. The service may pay the network fee; then it is the sponsor of the payment.
 */
import type { Asset } from '../payment/verify.ts'
import type { Posting, RecentBlockhash } from '../payouts/outgoing-wallet.ts'
import type { SignedDraft } from './payment-drafts.ts'

/** A transfer in a submitted transaction. */
export interface SubmittedTransfer {
  readonly asset: Asset
  /** The token account, or for SOL the wallet. */
  readonly destination: string
  /** The wallet that signs the transfer: the payer. */
  readonly authority: string
  readonly units: bigint
}

/** A transaction with nothing in it but transfers, memos and compute limits. All signatures but the sponsor's are valid. */
export interface SubmittedTransaction {
  readonly bytes: Uint8Array
  /** SHA-256 of the signed part of the bytes. */
  readonly message: Uint8Array
  readonly feePayer: string
  /** Undefined while the sponsor has not signed. */
  readonly signature: string | undefined
  readonly payer: string
  readonly transfers: readonly SubmittedTransfer[]
  readonly memos: readonly string[]
  readonly blockhash: string
  /** The network fee in lamports, with its priority part. */
  readonly fee: bigint
}

export type SubmissionReading =
  | { readonly kind: 'submitted'; readonly transaction: SubmittedTransaction }
  /** `why` names the rule for the log and for the client. */
  | { readonly kind: 'invalid'; readonly why: string }

export type SubmissionTrial =
  | { readonly kind: 'succeeds' }
  /** `isStale`: only because its blockhash is unknown or has expired. `why` is for the log. */
  | { readonly kind: 'fails'; readonly isStale: boolean; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** The chain's view of a sent transaction. */
export type SentState = SubmissionOutcome | 'open'

/** Reads submitted transactions, sends them, and reads their outcome. It holds no key. */
export interface SendOptions {
  readonly isSimulated?: boolean
}

export interface Submitter {
  /** Reads blockhashes from now on. Resolves after the first reading. Further calls change nothing. */
  start(): Promise<void>
  /** `sponsor` is the only wallet whose signature may be missing. */
  read(bytes: Uint8Array, sponsor: string | undefined): SubmissionReading
  /** A recent blockhash, without a request. Undefined if no node has answered for 20 s. */
  recent(): RecentBlockhash | undefined
  /** Simulates it without its signatures, so that nothing can land. */
  simulate(bytes: Uint8Array): Promise<SubmissionTrial>
  /**
   * Sends it once. Unless it was just simulated, the node simulates it first, and does not forward a transaction that
   * would fail.
   */
  send(signed: SignedDraft, options?: SendOptions): Promise<Posting>
  readState(signed: SignedDraft): Promise<SentState>
  /** The states of many transactions, in their order. */
  readStates(all: readonly SignedDraft[]): Promise<readonly SentState[]>
}

/** The wallet that pays network fees for others. It holds only SOL, and signs only checked transactions. */
export interface Sponsor {
  readonly address: string
  /** The balance in lamports, as last read. Undefined before the first answer. */
  balance(): bigint | undefined
  /** Adds the sponsor's signature to the transaction, and returns its bytes. The message is never changed. */
  sign(transaction: SubmittedTransaction): Promise<SponsorSigning>
}

export type SponsorSigning =
  | { readonly kind: 'signed'; readonly wire: Uint8Array; readonly signature: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** `landed` and `failed` cost the fee. `expired`: it never landed and can no longer land. */
export type SubmissionOutcome = 'landed' | 'failed' | 'expired'

/** A transaction that the service sends for another, recorded before it is sent. */
export interface Submission {
  /** The 64 bytes of its first signature. */
  readonly tx: Uint8Array
  /** SHA-256 of its message. Signatures of one message can differ, but the chain executes it once. */
  readonly message: Uint8Array
  /** Pseudonym of the requestId. */
  readonly request: string
  /** Pseudonym of the payer. */
  readonly payer: string
  /** Pseudonym of the client's address. Empty if the address is unknown; then its failures are not counted. */
  readonly client: string
  /** The requestId and the signed bytes, encrypted. */
  readonly sealed: string
  /** A slot at which a node knew its blockhash. */
  readonly slot: number
  /** The fee that the sponsor pays, in lamports; 0 if the payer pays it. */
  readonly lamports: bigint
  /** Until then, only the request that submitted it may use the payment. Milliseconds since 1970. */
  readonly heldUntil: number
  /** The time of recording. The periods of limits and sums go by it. */
  readonly at: number
}

export interface SubmissionLimits {
  /** Lamports that landed or may still land, within a day. */
  readonly perDay: bigint
  /** Lamports of transactions that failed or may still fail, within a day. */
  readonly lostPerDay: bigint
  /** Failed transactions of one payer within an hour. */
  readonly failuresPerPayer: number
  /** Failed transactions from one client address within an hour. */
  readonly failuresPerClient: number
}

export interface RecordedSubmission {
  readonly submission: Submission
  readonly outcome: SubmissionOutcome | undefined
}

export type SubmissionOpening =
  | { readonly kind: 'opened' }
  /** The same transaction was recorded before. */
  | ({ readonly kind: 'known' } & RecordedSubmission)
  /** Another transaction for this requestId, or of this payer, may still land. */
  | { readonly kind: 'other'; readonly of: 'request' | 'payer' }
  | { readonly kind: 'exceeded'; readonly limit: 'day' | 'lost' | 'payer' | 'client' }

/** The reason why a sponsor pays no more fees: its balance is below the floor, or a limit of 24 hours is reached. */
export type SponsorShortage = 'balance' | 'day' | 'lost'

/** For the operator: a sponsor stopped paying fees. Amounts are in SOL. */
export interface SponsorNotice {
  readonly sponsor: string
  readonly reason: SponsorShortage
  readonly balance: string
  /** The floor of the balance, or the limit that is reached. */
  readonly limit: string
}

/** A sponsor for the operator, in lamports. */
export interface SponsorState {
  readonly address: string
  /** Undefined if no node has answered yet. */
  readonly balance: bigint | undefined
  readonly floor: bigint
  readonly limits: SubmissionLimits
  readonly isOffering: boolean
}

/** The sums of submissions recorded since a time, in lamports. */
export interface SponsoredSums {
  readonly spent: bigint
  readonly lost: bigint
  /** Reserved by transactions that may still land, whenever they were recorded. */
  readonly open: bigint
}

export interface Submissions {
  /** Records a transaction before it is sent, in one step with the checks of the limits. */
  open(submission: Submission, limits: SubmissionLimits): Promise<SubmissionOpening>
  find(tx: Uint8Array): Promise<Submission | undefined>
  /** Whether a transaction of a payer may still land. `payer` is its pseudonym. */
  hasOpen(payer: string): Promise<boolean>
  /** The record of a message, whatever signatures it has. */
  findMessage(message: Uint8Array): Promise<RecordedSubmission | undefined>
  /** Extends the hold, or ends it with 0. */
  hold(tx: Uint8Array, heldUntil: number): Promise<void>
  /** Records the outcome once; a later call changes nothing. `lamports` is the actual fee. */
  close(tx: Uint8Array, outcome: SubmissionOutcome, lamports: bigint): Promise<void>
  /** Transactions without an outcome that were recorded before a time, the oldest first. */
  listOpen(before: number, most: number): Promise<readonly Submission[]>
  sums(since: number): Promise<SponsoredSums>
  /** Deletes transactions with an outcome that were recorded before a time. Returns their number. */
  forget(before: number): Promise<number>
}
