/** Loads SQLite before the files that import it, so that an operator without its binary is told what to do. */
import { loadBinary } from '../../core/errors/native-binary.ts'
import { LedgerConfigurationError } from '../identity.ts'

/** Throws a `LedgerConfigurationError` where SQLite has no binary that loads. */
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
