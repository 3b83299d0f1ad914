/** Ledgers as an earlier version left them: made by its steps of the schema, with rows written as it wrote them. */
import { DatabaseSync } from '@photostructure/sqlite'
import { onTestFinished } from 'vitest'
import type { Sighting } from '../../src/core/ports/journal.ts'
import type { Ledger, PaymentRecord } from '../../src/core/ports/ledger.ts'
import type { LedgerIdentity } from '../../src/ledger/identity.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openDatabase } from '../../src/ledger/postgres/database.ts'
import { steps as postgresSteps } from '../../src/ledger/postgres/schema.ts'
import { prepareFunctions, steps as sqliteSteps } from '../../src/ledger/sqlite/migrations.ts'
import { borrowEmptyLedger, postgresServer } from '../harness/database.ts'
import { newPath } from './files.ts'
import { createTestClock, identity, type TestClock } from './payments.ts'

/** Rows are written as versions up to this one wrote them. A later one has brought them further since. */
const lastWritten = 3

/** A payment with what has become of it. */
export interface Kept {
  readonly payment: PaymentRecord
  readonly used?: bigint
  readonly deliveries?: bigint
  readonly freeUses?: bigint
  readonly late?: boolean
  readonly isReverted?: boolean
  /** The grants on it, the last fence being the payment's. */
  readonly grants?: readonly { readonly fence: bigint; readonly amount: bigint; readonly deadline: number }[]
}

export interface Old {
  /** The version of the schema. */
  readonly schema: number
  readonly kept: readonly Kept[]
  readonly seen: readonly Sighting[]
}

export interface Place {
  readonly clock: TestClock
  /** Another connection each time. */
  open(who?: LedgerIdentity): Promise<Ledger>
  /** One statement on the database itself, past the ledger. Tables of PostgreSQL are named as those of SQLite. */
  sql(statement: string): Promise<readonly Record<string, unknown>[]>
}

export type MakePlace = (old?: Old) => Promise<Place>

/** Stores that outlive a process. */
export const places: readonly (readonly [name: string, make: MakePlace])[] = [
  ['sqlite', makeFile],
  ['postgres', makeDatabase],
]

async function makeFile(old?: Old): Promise<Place> {
  const path = newPath()
  if (old) {
    const db = new DatabaseSync(path)
    prepareFunctions(db)
    for (const step of sqliteSteps.slice(0, Math.min(old.schema, lastWritten))) db.exec(step)
    db.exec(`PRAGMA application_id = 0x70617973; PRAGMA user_version = ${old.schema}`)
    const insert = (table: string, row: Row) => {
      const names = Object.keys(row)
      const marks = names.map(() => '?').join()
      db.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${marks})`).run(...Object.values(row))
    }
    for (const [index, kept] of old.kept.entries()) {
      const { required, received, ...row } = rowOf(kept)
      const money = { required: String(required), received: String(received) }
      insert('payments', { id: index + 1, ...row, ...money, state: kept.late ? 'late' : 'valid' })
      for (const grant of kept.grants ?? []) insert('grants', { payment: index + 1, ...grant })
    }
    for (const seen of old.seen) insert('sightings', { ...seenOf(seen), received: String(seen.received) })
    insert('marks', { address: 'address-1', signature: 'signature-1', slot: 9 })
    insert('meta', { key: 'network', value: identity.network })
    for (const step of sqliteSteps.slice(lastWritten, old.schema)) db.exec(step)
    db.close()
  }
  return placeOf(path, async (statement) => {
    const db = new DatabaseSync(path)
    try {
      return db.prepare(statement).all() as Record<string, unknown>[]
    } finally {
      db.close()
    }
  })
}

async function makeDatabase(old?: Old): Promise<Place> {
  const url = old ? await postgresServer().place() : await borrowUntilFinished()
  if (old) {
    const database = openDatabase(url, 2_000)
    const insert = (table: string, row: Row) => {
      const names = Object.keys(row)
      const marks = names.map((_, index) => `$${index + 1}`).join()
      const values = Object.values(row).map((value) => (typeof value === 'bigint' ? String(value) : value))
      return database.query(`INSERT INTO ${table} (${names.join()}) VALUES (${marks})`, values)
    }
    for (const step of postgresSteps.slice(0, Math.min(old.schema, lastWritten))) await database.query(step)
    await database.query('CREATE TABLE paystile_meta (key text PRIMARY KEY, value text NOT NULL)')
    await insert('paystile_meta', { key: 'schema', value: String(old.schema) })
    for (const kept of old.kept) {
      const leases = (kept.grants ?? []).map(({ fence, amount, deadline }) => `${fence}:${amount}:${deadline}`)
      await insert('paystile_payments', {
        ...rowOf(kept),
        late: String(kept.late ?? false),
        leases: leases.join(' '),
        version: 5,
      })
    }
    for (const seen of old.seen) await insert('paystile_sightings', seenOf(seen))
    await insert('paystile_marks', { address: 'address-1', signature: 'signature-1', slot: 9 })
    for (const step of postgresSteps.slice(lastWritten, old.schema)) await database.query(step)
    await database.close()
  }
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

type Row = Readonly<Record<string, string | number | bigint | Uint8Array>>

function seenOf({ tx, recipient, request, payer, token, received, slot, paidAt }: Sighting) {
  return { tx, recipient, request, payer, token, received, slot, paid_at: paidAt }
}

function rowOf({ payment, used = 0n, deliveries = 0n, freeUses = 0n, isReverted = false, grants = [] }: Kept) {
  const {
    allowance,
    paidAt,
    usableUntil,
    scope,
    endpoint: _,
    worth: __,
    rates: ___,
    splits: ____,
    isCollected: _____,
    ...columns
  } = payment
  return {
    ...columns,
    ...(isReverted && { finality: 'reverted' }),
    scope: JSON.stringify(scope).slice(1, -1),
    unit: allowance.unit,
    amount: allowance.amount,
    paid_at: paidAt,
    usable_until: usableUntil,
    registered_at: paidAt + 1000,
    used,
    deliveries,
    free_uses: freeUses,
    fence: grants.at(-1)?.fence ?? 0n,
  }
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
