import { expect, it } from 'vitest'
import { LedgerConfigurationError } from '../identity.ts'
import { requireSqlite } from './binary.ts'

it('names SQLite and PostgreSQL if the machine has no binary of SQLite', async () => {
  const failed = requireSqlite(() => Promise.reject(new Error('No native build was found for arch=riscv64\n  at …')))
  await expect(failed).rejects.toEqual(
    new LedgerConfigurationError(
      `The SQLite ledger needs @photostructure/sqlite, but its binary does not load on ${process.platform}-${process.arch} ` +
        '(No native build was found for arch=riscv64); use a PostgreSQL ledger (postgres:) or a supported machine.',
    ),
  )
})

it('accepts a machine that has it', async () => {
  await expect(requireSqlite()).resolves.toBeUndefined()
})
