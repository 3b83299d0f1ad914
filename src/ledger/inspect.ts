/** Looks at a ledger as somebody who must not touch it: nothing is made, changed or brought up to date. */
import { parseLedgerUrl } from '../core/ledger-url.ts'
import { LedgerUnavailable } from '../core/ports.ts'
import type { LedgerIdentity } from './identity.ts'
import { LedgerConfigurationError } from './identity.ts'

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

export async function inspectLedger(url: string, identity: KnownIdentity): Promise<LedgerInspection> {
  const place = parseLedgerUrl(url)
  try {
    if (place?.kind === 'sqlite') return await (await import('./inspect-sqlite.ts')).inspectFile(place.path, identity)
    if (place?.kind === 'postgres') return await (await import('./inspect-postgres.ts')).inspectServer(url, identity)
    if (place?.kind === 'memory') return { kind: 'new', facts: { name: 'memory:' } }
    return { kind: 'bad', why: 'the ledger is of no kind this version can keep', facts: { name: 'unknown' } }
  } catch (error) {
    if (error instanceof LedgerConfigurationError)
      return { kind: 'bad', why: error.message, facts: { name: 'unknown' } }
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'unavailable', why: error instanceof LedgerUnavailable ? why : `it cannot be looked at: ${why}` }
  }
}
