/** Loads SQLite before the files that import it, so that an operator without its binary gets instructions. */
import { loadBinary } from '../../core/errors/native-binary.ts'
import { LedgerConfigurationError } from '../identity.ts'

/** Throws a `LedgerConfigurationError` if no binary of SQLite can be loaded. */
export async function requireSqlite(
  load: () => Promise<unknown> = () => import('@photostructure/sqlite'),
): Promise<void> {
  await loadBinary(
    {
      part: 'The SQLite ledger',
      name: '@photostructure/sqlite',
      instead: 'use a PostgreSQL ledger (postgres:) or a supported machine.',
      refuse: (sentence) => new LedgerConfigurationError(sentence),
      machine: process,
    },
    load,
  )
}
