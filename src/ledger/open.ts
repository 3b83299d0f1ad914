/** From the `ledger` option to a ledger. */
import { parseLedgerUrl } from '../core/ledger-url.ts'
import type { Clock, Ledger } from '../core/ports.ts'
import type { LedgerIdentity } from './identity.ts'
import { LedgerConfigurationError } from './identity.ts'
import { createMemoryLedger } from './memory.ts'

export interface LedgerParts {
  readonly clock: Clock
  readonly identity: LedgerIdentity
}

/**
 * Opens the ledger that a URL names: `sqlite:<path>`, a bare path, or `memory:` (which forgets, and is for tests).
 *
 * Throws `LedgerConfigurationError` where the operator has to act, and `LedgerUnavailable` where waiting may help.
 *
 * @example
 * const ledger = await openLedger('sqlite:./ledger.db', { clock, identity })
 */
export async function openLedger(url: string, parts: LedgerParts): Promise<Ledger> {
  const place = parseLedgerUrl(url)
  if (place?.kind === 'memory') return createMemoryLedger(parts)
  if (place?.kind === 'sqlite') {
    // Loaded here, so that who does not use it need not have its binary.
    const { openSqliteLedger } = await import('./sqlite.ts')
    return openSqliteLedger(place.path, parts)
  }
  throw new LedgerConfigurationError(
    `The ledger "${nameOf(url)}" is of no kind this version can keep: write sqlite: and the path of a file.`,
  )
}

/** The URL without what may be a password. */
function nameOf(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//…@')
}
