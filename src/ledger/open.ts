/** Opens the ledger that the `ledger` option names. */
import type { Ledger } from '../core/ports/ledger.ts'
import { parseLedgerUrl } from '../core/ports/ledger-url.ts'
import type { Clock } from '../core/runtime.ts'
import { LedgerConfigurationError, type LedgerIdentity } from './identity.ts'
import { requireSqlite } from './sqlite/binary.ts'

export interface LedgerParts {
  readonly clock: Clock
  /** Uses the clock of the store, if it has one. Servers then agree on the time even if their own clocks differ. */
  readonly ownClock?: boolean
  readonly identity: LedgerIdentity
}

/**
 * Opens the ledger of a URL: `postgres://…`, `sqlite:<path>`, a bare path, or `memory:` (for tests; lost at the end of
 * the process).
 *
 * Throws `LedgerConfigurationError` if the operator must act, and `LedgerUnavailable` if a retry may succeed.
 *
 * @example
 * const ledger = await openLedger('sqlite:./ledger.db', { clock, identity })
 */
export async function openLedger(url: string, parts: LedgerParts): Promise<Ledger> {
  const place = parseLedgerUrl(url)
  if (place?.kind === 'postgres') {
    const { openPostgresLedger } = await import('./postgres/ledger.ts')
    const { clock, identity, ownClock } = parts
    return openPostgresLedger(url, { identity, ...(ownClock === true ? { monotonic: clock.monotonic } : { clock }) })
  }
  if (place?.kind === 'sqlite' || place?.kind === 'memory') {
    // Loaded on demand, so that a server with another ledger does not need SQLite's binary.
    await requireSqlite()
    const { openMemoryLedger, openSqliteLedger } = await import('./sqlite/ledger.ts')
    return place.kind === 'sqlite' ? openSqliteLedger(place.path, parts) : openMemoryLedger(parts)
  }
  throw new LedgerConfigurationError(
    `The ledger "${nameOf(url)}" has an unsupported type`,
    'use sqlite:<file> or postgres://<database>',
  )
}

/** The URL without user and password. */
function nameOf(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//…@')
}
