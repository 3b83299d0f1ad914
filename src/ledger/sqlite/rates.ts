/** The rate journal in the ledger's SQLite file. */
import type { StatementSyncInstance } from '@photostructure/sqlite'
import type { JournaledRates } from '../../core/money/rates.ts'
import type { RateJournal } from '../../core/ports/journal.ts'
import { ratesKeptMs } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import type { RateRow, RateScope, RateSteps } from '../rules/rates.ts'
import { chooseRates, nameScope, rateStatements, rateValues, readRates } from '../rules/rates.ts'
import type { SqliteFile } from './file.ts'

export function createSqliteRates({ db, read, write }: SqliteFile, clock: Clock): RateJournal {
  const sql = rateStatements('rates', (number) => `?${number}`)
  const [note, forget] = [db.prepare(sql.note), db.prepare(sql.forget)]
  const statements = new Map<string, StatementSyncInstance>()
  const ask = (text: string, scope: RateScope, time: number): JournaledRates | undefined => {
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    const row = statement.get(nameScope(scope), time) as RateRow | undefined
    return row && readRates(row)
  }
  const steps: RateSteps<JournaledRates | undefined> = {
    last: (scope, time, tokens) => ask(sql.last(scope, tokens), scope, time),
    next: (scope, time, tokens) => ask(sql.next(scope, tokens), scope, time),
  }
  return {
    note: ({ feed, source, table }) =>
      write(() => {
        const now = readTime(clock)
        note.run(feed, now, source, ...rateValues(table))
        forget.run(now - ratesKeptMs)
      }),
    find: (query) =>
      read(() => {
        const choice = chooseRates(steps, query)
        for (let step = choice.next(); ; step = choice.next(step.value)) if (step.done) return step.value
      }),
  }
}
