/** Payments that the payer signs in a wallet of their own, as a port. */
import type { Mint } from '../money/tokens.ts'
import type { PaymentOption } from '../payment/verify.ts'
import type { Posting } from '../payouts/outgoing-wallet.ts'

/** A payment that somebody else is to sign. */
export interface PaymentDraft {
  /** Who pays, and signs. */
  readonly account: string
  readonly recipient: string
  /** Undefined for SOL. */
  readonly mint: Mint | undefined
  readonly units: bigint
  readonly requestId: string
  /** An address that is only mentioned, so that the payment can be found by it. */
  readonly reference: string
}

export type Drafting =
  /** The transaction without its signature, base64. */
  | { readonly kind: 'transaction'; readonly transaction: string }
  /** The wallet has too little of the token, or of SOL for the fee. */
  | { readonly kind: 'short'; readonly of: 'token' | 'fee'; readonly has: bigint; readonly needs: bigint }
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

/** A signed transaction, as far as it can be read without running it. */
export interface SignedDraft {
  /** Base64. */
  readonly wire: string
  readonly signature: string
  /** A slot at which a node knew the block that it is built on. */
  readonly slot: number
}

export type DraftReading =
  /** `isFresh`: it is built on a recent block, so that it is known until when it can land. */
  | { readonly kind: 'signed'; readonly signed: SignedDraft; readonly isFresh: boolean }
  /** Not signed by all who must, or its memo is not the requestId. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'unavailable' }

/** One of the ways in which a purchase may be paid. */
export interface DraftOption extends Pick<PaymentOption, 'asset' | 'units' | 'destination'> {
  /** What has to be sent for `units` to arrive, where the token takes a fee. */
  readonly gross: bigint
}

export type DraftTrial =
  | { readonly kind: 'pays' }
  /** It would fail, or pays something else or too little. */
  | { readonly kind: 'fails' | 'foreign'; readonly why: string }
  | { readonly kind: 'unavailable' }

/** Drafts payments for people who pay with a wallet of their own, and sends what they signed. It has no key. */
export interface PaymentDrafts {
  draft(draft: PaymentDraft): Promise<Drafting>
  /** Reads what a wallet signed. */
  read(bytes: Uint8Array, requestId: string): Promise<DraftReading>
  /** Whether what a wallet signed would succeed now and pay by one of these ways. Nodes see it without its signatures. */
  simulate(bytes: Uint8Array, options: readonly DraftOption[]): Promise<DraftTrial>
  send(signed: SignedDraft): Promise<Posting>
  /** `over`: it failed, or can no longer land, so that another may be made. */
  readFate(signed: SignedDraft): Promise<'landed' | 'over' | 'open'>
}
