/** Ledger files of one test, closed and removed when it ends. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { LedgerIdentity } from '../../src/ledger/identity.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { createTestClock, identity } from './payments.ts'
import { createFolder } from './stores.ts'

export const clock = createTestClock()

export function newPath(name = 'ledger.db'): string {
  const folder = createFolder()
  onTestFinished(folder.remove)
  return join(folder.path, name)
}

export async function open(path: string, who: LedgerIdentity = identity, busyTimeoutMs = 20) {
  const ledger = await openSqliteLedger(path, { clock, identity: who, busyTimeoutMs })
  onTestFinished(() => ledger.close())
  return ledger
}
