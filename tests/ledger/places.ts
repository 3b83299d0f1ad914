/** Ledgers that outlive a process, each opened by several connections. */
import { DatabaseSync } from '@photostructure/sqlite'
import { onTestFinished } from 'vitest'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { LedgerIdentity } from '../../src/ledger/identity.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openDatabase } from '../../src/ledger/postgres/database.ts'
import { borrowEmptyLedger } from '../harness/database.ts'
import { newPath } from './files.ts'
import { createTestClock, identity, type TestClock } from './payments.ts'

export interface Place {
  readonly clock: TestClock
  /** Another connection each time. */
  open(who?: LedgerIdentity): Promise<Ledger>
  /** One statement on the database itself, past the ledger. Tables of PostgreSQL are named as those of SQLite. */
  sql(statement: string): Promise<readonly Record<string, unknown>[]>
}

export type MakePlace = () => Promise<Place>

/** Stores that outlive a process. */
export const places: readonly (readonly [name: string, make: MakePlace])[] = [
  ['sqlite', makeFile],
  ['postgres', makeDatabase],
]

async function makeFile(): Promise<Place> {
  const path = newPath()
  return placeOf(path, async (statement) => {
    const db = new DatabaseSync(path)
    try {
      return db.prepare(statement).all() as Record<string, unknown>[]
    } finally {
      db.close()
    }
  })
}

async function makeDatabase(): Promise<Place> {
  const url = await borrowUntilFinished()
  return placeOf(url, async (statement) => {
    const database = openDatabase(url, 2_000)
    const named = statement.replace(/(FROM|INTO|UPDATE) (?=\w)/, '$1 paystile_')
    try {
      return await database.query(named)
    } finally {
      await database.close()
    }
  })
}

async function borrowUntilFinished(): Promise<string> {
  const { url, giveBack } = await borrowEmptyLedger()
  onTestFinished(giveBack)
  return url
}

function placeOf(url: string, sql: Place['sql']): Place {
  const clock = createTestClock()
  return {
    clock,
    sql,
    open: async (who = identity) => {
      const ledger = await openLedger(url, { clock, identity: who })
      onTestFinished(() => ledger.close())
      return ledger
    },
  }
}
