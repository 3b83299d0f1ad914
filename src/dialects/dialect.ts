/**
 * A dialect: how challenges, proofs and refusals look on the wire. The paywall knows none of them by name, so another
 * protocol's spelling of the same things is one more module of this shape.
 */
import type { Answer, HeaderPairs, Incoming } from '../core/http/http.ts'
import type { Refusal } from '../core/payment/refusals.ts'
import type { ChallengeParts, Offer } from '../core/protocol/challenge.ts'
import type { Proof } from '../core/protocol/proof.ts'

/** A transaction that the service shall send, and the requestId that it pays for. */
export interface Credential {
  readonly transaction: Uint8Array
  /** Undefined if the memo of the transaction names it. */
  readonly requestId?: string | undefined
  /** The secret of the challenge, if the client echoes it. From then on, the payment is claimed with this secret only. */
  readonly claim?: string | undefined
  /** It names no challenge, neither itself nor by its memo. The service quotes the request anew. */
  readonly isUnnamed?: true
}

export type Reading =
  | { readonly kind: 'proof'; readonly proof: Proof }
  | { readonly kind: 'credential'; readonly credential: Credential }
  /** A transaction that the client has sent itself. The chain tells the payer. */
  | {
      readonly kind: 'signature'
      readonly tx: string
      readonly requestId: string
      readonly claim?: string | undefined
    }
  /** In another protocol the client may pay again, since neither it nor the service has sent a transaction. */
  | { readonly kind: 'malformed'; readonly why: string }
  /** The client may have paid already, so its answer is this refusal, without a challenge. */
  | Refusal

/** The facts of a refusal that a dialect may tell. */
export interface RefusalFacts {
  readonly requestId?: string | undefined
  /** The transaction, once the service has signed it. */
  readonly tx?: string | undefined
  readonly payer?: string | undefined
}

/** The changes that another protocol makes to a refusal of the native dialect. */
export interface ForeignRefusal {
  readonly status: number
  readonly headers: HeaderPairs
  /** The problem type of the body, if the protocol defines one for this refusal. */
  readonly type?: string
}

/** A settled payment, for the headers of its response. */
export interface Settled {
  readonly tx: string
  readonly requestId: string
  readonly payer: string
  readonly claim?: string
}

/** The native dialect, which writes the body of every answer. */
export interface Dialect {
  /** Undefined if the request carries nothing in this dialect. */
  read(incoming: Incoming): Reading | undefined
  /** Prepares an offer once; the result answers every unpaid request. `members` are further JSON members of the body. */
  prepare(offer: Offer): (parts: ChallengeParts, members?: string) => Answer
  /** `wording` replaces the status and the problem type, for a request in another dialect. */
  refusal(refusal: Refusal, facts?: RefusalFacts, wording?: Omit<ForeignRefusal, 'headers'>): Answer
}

/** Another protocol: it adds headers to the answers of the native dialect. */
export interface ForeignDialect {
  readonly name: 'x402' | 'x402-v1' | 'mpp'
  /** Its request headers. Caches vary by them, browsers may send them, and the gateway keeps them from the upstream. */
  readonly requestHeaders: readonly string[]
  /** Its response headers, which scripts of other origins may read. */
  readonly responseHeaders: readonly string[]
  /** Undefined if the request carries nothing in this dialect. */
  read(incoming: Incoming): Reading | undefined
  /** Whether the client of an unpaid request may read this dialect. */
  isWanted(incoming: Incoming): boolean
  /** Prepares the headers that it adds to a 402. Undefined if it cannot sell the offer. */
  prepare(offer: Offer): ((parts: ChallengeParts) => HeaderPairs) | undefined
  /** Prepares the JSON members that it adds to the body of a 402, if its challenge is there. */
  prepareMembers?(offer: Offer): ((parts: ChallengeParts) => string) | undefined
  /** For a request in this dialect. */
  refusal(refusal: Refusal, facts: RefusalFacts): ForeignRefusal
  /** Whether a refusal is answered with a fresh challenge: nothing was signed, and the client may pay again. */
  isFresh(refusal: Refusal): boolean
  /** The headers that it adds to a paid response. */
  paid(settled: Settled): HeaderPairs
  /** The members that it adds to the receipt. */
  receiptMembers?(settled: Settled): Readonly<Record<string, string>>
}
