/** Runs the statements that both databases share on PostgreSQL. */
import { createBatch } from '../sql/batch.ts'
import type { SqlStore, Work } from '../sql/work.ts'
import type { Database } from './database.ts'
import { createPostgresDialect } from './sql-dialect.ts'

/**
 * Locks payables and outgoing transactions on all servers until the commit. So accruals are numbered in the order of
 * their commits, and payees, keys and caps stay as they were read. An arbitrary number that must not change and differs
 * from the lock of the schema.
 */
const payablesLock = 7_402_402_403
/** A transaction that opens a submission holds it, so that the limits count every submission opened before. */
const submissionsLock = 7_402_402_404

/** How long a rebuild of the books waits for running registrations. */
const aloneMs = 60_000

/** `lane` is the lane of this server in the books. */
export function createPostgresStore(database: Database, lane: number): SqlStore {
  const each: SqlStore['read'] = (work) => run(work(), database.query)
  const transactUnder = <Result>(lock: number, work: (query: Database['query']) => Promise<Result>) =>
    database.transact(async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [lock])
      return work(query)
    })
  let number = 0
  // One transaction at a time: each that waited for the lock would keep a connection from the payments.
  const openings = createBatch((works: readonly (() => Work<unknown>)[]) =>
    transactUnder(submissionsLock, async (query) => {
      const results: unknown[] = []
      for (const work of works) results.push(await run(work(), query))
      return results
    }),
  )
  return {
    dialect: createPostgresDialect(lane),
    read: each,
    write: each,
    transact: (work) => database.transact((query) => run(work(), query)),
    transactPayables: (work) => transactUnder(payablesLock, (query) => run(work(), query)),
    transactSubmissions: <Result>(work: () => Work<Result>) => openings.run(`${++number}`, work) as Promise<Result>,
    transactAlone: (work) =>
      database.transact(async (query) => {
        await query('LOCK TABLE paystile_payments IN EXCLUSIVE MODE', [], { timeoutMs: aloneMs })
        return run(work(), query)
      }),
    snapshot: (work) =>
      database.transact(async (query) => {
        await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
        return run(work(), query)
      }),
  }
}

async function run<Result>(work: Work<Result>, query: Database['query']): Promise<Result> {
  for (let step = work.next(); ; ) {
    if (step.done) return step.value
    const { sql, values, timeoutMs } = step.value
    step = work.next(await query(spell(sql), values, timeoutMs === undefined ? {} : { timeoutMs }))
  }
}

const spelled = new Map<string, string>()

/** Replaces placeholders by numbered ones, and table names by those of PostgreSQL. */
function spell(sql: string): string {
  const known = spelled.get(sql)
  if (known !== undefined) return known
  let place = 0
  const text = sql.replaceAll(/\?|\{(\w+)\}/g, (_, table?: string) => (table ? `paystile_${table}` : `$${++place}`))
  spelled.set(sql, text)
  return text
}
