/** What can be seen of a ledger without touching it. */
import type { LedgerIdentity } from './identity.ts'

/** What is known of who will open it; the fingerprint is not where the secret is not. */
export type KnownIdentity = Omit<LedgerIdentity, 'fingerprint'> & { readonly fingerprint?: string }

export type LedgerInspection =
  /** Nothing is there yet: the first start makes it. */
  | { readonly kind: 'new'; readonly facts: LedgerFacts }
  | { readonly kind: 'good'; readonly facts: LedgerFacts }
  /** The operator has to act: one sentence on what, and what next. */
  | { readonly kind: 'bad'; readonly why: string; readonly facts: LedgerFacts }
  /** It cannot be looked at; waiting may help. */
  | { readonly kind: 'unavailable'; readonly why: string }

export interface LedgerFacts {
  /** Without passwords. */
  readonly name: string
  readonly payments?: number
  /** Of its schema, and the one that this version brings it to. */
  readonly version?: number
  readonly latest?: number
  /** What is left on its disk. */
  readonly freeBytes?: number
  /** How far the database's clock is ahead of this machine's. */
  readonly aheadMs?: number
}
