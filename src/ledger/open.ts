/** From the `ledger` option to a ledger. */
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
  // One letter before the colon is a drive of Windows, not a scheme.
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(url) ?? [undefined, 'sqlite', url]
  switch (scheme?.toLowerCase()) {
    case 'memory':
      if (rest === '') return createMemoryLedger(parts)
      break
    case 'sqlite': {
      const path = rest.replace(/^\/\//, '')
      if (path === '' || path.includes(':memory:')) break
      // Loaded here, so that who does not use it need not have its binary.
      const { openSqliteLedger } = await import('./sqlite.ts')
      return openSqliteLedger(path, parts)
    }
  }
  throw new LedgerConfigurationError(
    `The ledger "${nameOf(url)}" is of no kind this version can keep: write sqlite: and the path of a file.`,
  )
}

/** The URL without what may be a password. */
function nameOf(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//…@')
}
