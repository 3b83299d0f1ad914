/** From the `ledger` option to a ledger. */
import type { Ledger } from '../core/ports/ledger.ts'
import { parseLedgerUrl } from '../core/ports/ledger-url.ts'
import type { Clock } from '../core/runtime.ts'
import type { LedgerIdentity } from './identity.ts'
import { LedgerConfigurationError } from './identity.ts'
import { requireSqlite } from './sqlite/binary.ts'

export interface LedgerParts {
  readonly clock: Clock
  /** Lets a store that has a clock of its own go by that, so that servers agree whatever their clocks say. */
  readonly ownClock?: boolean
  readonly identity: LedgerIdentity
}

/**
 * Opens the ledger that a URL names: `postgres://…`, `sqlite:<path>`, a bare path, or `memory:` (which forgets, and is
 * for tests).
 *
 * Throws `LedgerConfigurationError` where the operator has to act, and `LedgerUnavailable` where waiting may help.
 *
 * @example
 * const ledger = await openLedger('sqlite:./ledger.db', { clock, identity })
 */
export async function openLedger(url: string, parts: LedgerParts): Promise<Ledger> {
  const place = parseLedgerUrl(url)
  if (place?.kind === 'postgres') {
    const { openPostgresLedger } = await import('./postgres/ledger.ts')
    const { clock, identity, ownClock } = parts
    return openPostgresLedger(url, { identity, ...(ownClock !== true && { clock }) })
  }
  if (place?.kind === 'sqlite' || place?.kind === 'memory') {
    // Loaded here, so that a server with another ledger need not have its binary.
    await requireSqlite()
    const { openMemoryLedger, openSqliteLedger } = await import('./sqlite/ledger.ts')
    return place.kind === 'sqlite' ? openSqliteLedger(place.path, parts) : openMemoryLedger(parts)
  }
  throw new LedgerConfigurationError(
    `The ledger "${nameOf(url)}" has an unsupported type: use sqlite:<file> or postgres://<database>.`,
  )
}

/** The URL without what may be a password. */
function nameOf(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//…@')
}
