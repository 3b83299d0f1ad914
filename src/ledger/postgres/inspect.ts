/** Inspects a PostgreSQL ledger. All statements only read. */
import { checkIdentity, LedgerConfigurationError } from '../identity.ts'
import type { KnownIdentity, LedgerInspection } from '../inspect-answers.ts'
import { formatSums, readSums } from '../rules/submissions.ts'
import { dayMs } from '../rules/totals.ts'
import { type Database, grantRights, openDatabase } from './database.ts'
import { checkDurability, readMeta, steps } from './schema.ts'

const timeoutMs = 5_000

export async function inspectServer(url: string, identity: KnownIdentity, now: number): Promise<LedgerInspection> {
  const database = openDatabase(url, timeoutMs)
  const { name } = database
  const facts = { name }
  try {
    const aheadMs = await measureClock(database)
    const known = { ...facts, aheadMs }
    try {
      await checkDurability(database)
      const [found] = await database.query(
        "SELECT to_regclass('paystile_meta') IS NOT NULL AS known, has_schema_privilege(current_schema(), 'CREATE') AS may",
      )
      if (!found?.['known']) {
        if (found?.['may']) return { kind: 'new', facts: known }
        const why = `The ledger ${name} gives this user too few rights`
        return { kind: 'bad', why, remedy: grantRights, facts: known }
      }
      return { kind: 'good', facts: { ...known, ...(await look(database, identity, now)), latest: steps.length } }
    } catch (error) {
      if (error instanceof LedgerConfigurationError)
        return { kind: 'bad', why: error.problem, remedy: error.remedy, facts: known }
      throw error
    }
  } finally {
    await database.close()
  }
}

async function look(database: Database, identity: KnownIdentity, now: number) {
  const { version, remembered } = await readMeta(database.name, database.query)
  checkIdentity(database.name, remembered, {
    ...identity,
    fingerprint: identity.fingerprint ?? remembered.fingerprint ?? '',
  })
  // Counting a large table takes long, and the planner's estimate is sufficient.
  const [row] = await database.query(
    "SELECT reltuples::bigint AS n FROM pg_class WHERE oid = to_regclass('paystile_payments')",
  )
  const payments = Math.max(0, Number(row?.['n'] ?? 0))
  // A ledger with an older schema may lack the table.
  if (version < steps.length) return { version, payments }
  const [sums] = await database.query(formatSums('paystile_submissions', now - dayMs))
  return { version, payments, sponsored: readSums(sums) }
}

/** The database's time minus this machine's, at the middle of the query. */
async function measureClock(database: Database): Promise<number> {
  const epoch = () => performance.timeOrigin + performance.now()
  await database.query('SELECT 1')
  const asked = epoch()
  const [row] = await database.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
  return Number(row?.['now']) - (asked + epoch()) / 2
}
