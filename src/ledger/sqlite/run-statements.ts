/** Runs the statements that both databases share on a SQLite database. */
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite'
import type { SqlStore, Statement, Work } from '../sql/work.ts'
import type { SqliteFile } from './file.ts'
import { sqliteDialect } from './sql-dialect.ts'

type Ask = (statement: Statement) => readonly unknown[]

export function createSqliteStore(file: SqliteFile): SqlStore {
  const ask = prepareAsking(file.db)
  const transact: SqlStore['transact'] = (work) => file.write(() => run(work(), ask))
  return {
    dialect: sqliteDialect,
    read: (work) => file.read(() => run(work(), ask)),
    write: transact,
    transact,
    // A writer has exclusive access in any case.
    transactPayables: transact,
    transactSubmissions: transact,
    transactAlone: (work) => file.writeAlone(() => run(work(), ask)),
    async snapshot(work) {
      if (file.isInMemory) return file.read(() => run(work(), ask))
      // Throws if the file is closed or was moved.
      await file.read(() => {})
      const db = new DatabaseSync(file.path, { readOnly: true })
      try {
        db.exec('BEGIN')
        return await runPatiently(work(), prepareAsking(db))
      } finally {
        db.close()
      }
    },
  }
}

/** Prepares statements at their first use, and keeps them. */
function prepareAsking(db: DatabaseSyncInstance): Ask {
  const statements = new Map<string, StatementSyncInstance>()
  return ({ sql, values }) => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = db.prepare(sql.replaceAll(/\{(\w+)\}/g, '$1'))
      statement.setReadBigInts(true)
      statements.set(sql, statement)
    }
    return statement.all(...(values as Parameters<StatementSyncInstance['all']>))
  }
}

function run<Result>(work: Work<Result>, ask: Ask): Result {
  for (let step = work.next(); ; step = work.next(ask(step.value))) if (step.done) return step.value
}

/** Lets the process do other work between two statements. */
async function runPatiently<Result>(work: Work<Result>, ask: Ask): Promise<Result> {
  for (let step = work.next(); ; step = work.next(ask(step.value))) {
    if (step.done) return step.value
    await new Promise((resolve) => setImmediate(resolve))
  }
}
