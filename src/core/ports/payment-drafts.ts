/** Payments that the payer signs in their own wallet, as a port. */
import type { Mint } from '../money/tokens.ts'
import type { SplitPart } from '../payment/splits.ts'
import type { PaymentOption } from '../payment/verify.ts'
import type { Posting } from '../payouts/outgoing-wallet.ts'

/** An unsigned payment for another wallet. */
export interface PaymentDraft {
  /** The wallet that pays and signs. */
  readonly account: string
  readonly recipient: string
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  /** The amount to send to the recipient. */
  readonly units: bigint
  /** The amounts to send to other wallets. */
  readonly splits?: readonly SplitPart[]
  readonly requestId: string
  /** An address that is only referenced, so that the payment can be found by it. */
  readonly reference: string
}

export type Drafting =
  /** The unsigned transaction, base64. */
  | { readonly kind: 'transaction'; readonly transaction: string }
  /** The wallet has too little of the token, or of SOL for the fee. */
  | { readonly kind: 'short'; readonly of: 'token' | 'fee'; readonly has: bigint; readonly needs: bigint }
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** A signed transaction, as far as it can be read without execution. */
export interface SignedDraft {
  /** Base64. */
  readonly wire: string
  readonly signature: string
  /** A slot at which a node knew its blockhash. */
  readonly slot: number
}

export type DraftReading =
  /** `isFresh`: it has a recent blockhash, so the end of its validity is known. */
  | { readonly kind: 'signed'; readonly signed: SignedDraft; readonly isFresh: boolean }
  /** A required signature is missing, or its memo is not the requestId. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unavailable' }

/** One of the ways to pay for a purchase. */
export interface DraftOption extends DraftPart, Pick<PaymentOption, 'asset'> {
  /** The parts of other wallets. */
  readonly splits?: readonly DraftPart[]
}

export interface DraftPart extends Pick<PaymentOption, 'units' | 'destination'> {
  /** The amount to send so that `units` arrive, if the token charges a fee. */
  readonly gross: bigint
}

export type DraftTrial =
  | { readonly kind: 'pays' }
  /** It would fail, or pays something else or too little. */
  | { readonly kind: 'fails' | 'foreign'; readonly why: string }
  | { readonly kind: 'unavailable' }

/** Drafts payments for people who pay with their own wallet, and sends the signed transactions. It holds no key. */
export interface PaymentDrafts {
  draft(draft: PaymentDraft): Promise<Drafting>
  /** Reads a transaction that a wallet signed. */
  read(bytes: Uint8Array, requestId: string): Promise<DraftReading>
  /**
   * Whether a signed transaction would succeed now and pay in one of these ways. Nodes see it without its signatures.
   */
  simulate(bytes: Uint8Array, options: readonly DraftOption[]): Promise<DraftTrial>
  send(signed: SignedDraft): Promise<Posting>
  /** `over`: it failed or can no longer land, so that another may be made. */
  readFate(signed: SignedDraft): Promise<'landed' | 'over' | 'open'>
}
