/** The results of a read-only inspection of a ledger. */
import type { SponsoredSums } from '../core/ports/sponsor.ts'
import type { LedgerIdentity } from './identity.ts'

/** The known part of the identity. The fingerprint is missing if the secret is unknown. */
export type KnownIdentity = Omit<LedgerIdentity, 'fingerprint'> & { readonly fingerprint?: string }

export type LedgerInspection =
  /** No ledger exists yet. The first start creates it. */
  | { readonly kind: 'new'; readonly facts: LedgerFacts }
  | { readonly kind: 'good'; readonly facts: LedgerFacts }
  /** The operator must act. */
  | { readonly kind: 'bad'; readonly why: string; readonly remedy: string | undefined; readonly facts: LedgerFacts }
  /** The ledger cannot be read. A retry may succeed. */
  | { readonly kind: 'unavailable'; readonly why: string }

export interface LedgerFacts {
  /** Without passwords. */
  readonly name: string
  readonly payments?: number
  /** The version of its schema, and the version that the next start migrates to. */
  readonly version?: number
  readonly latest?: number
  /** Free bytes on its disk. */
  readonly freeBytes?: number
  /** The lead of the database's clock over this machine's. */
  readonly aheadMs?: number
  /** Fees paid for others within the last 24 hours. Missing if the schema is older. */
  readonly sponsored?: SponsoredSums
}
