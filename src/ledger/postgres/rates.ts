/** The rate journal in the ledger's PostgreSQL database. */
import type { JournaledRates } from '../../core/money/rates.ts'
import type { RateJournal } from '../../core/ports/journal.ts'
import { ratesKeptMs } from '../../core/ports/journal.ts'
import type { Clock } from '../../core/runtime.ts'
import { readTime } from '../rules/grants.ts'
import type { RateRow, RateSteps } from '../rules/rates.ts'
import { chooseRates, nameScope, rateStatements, rateValues, readRates } from '../rules/rates.ts'
import type { Database } from './database.ts'

const sql = rateStatements('paystile_rates', (number) => `$${number}`)

export function createPostgresRates(database: Database, clock: Clock): RateJournal {
  const ask = async (statement: string, values: readonly unknown[]): Promise<JournaledRates | undefined> => {
    const [row] = await database.query(statement, values)
    return row && readRates(row as unknown as RateRow)
  }
  const steps: RateSteps<Promise<JournaledRates | undefined>> = {
    last: (scope, time, tokens) => ask(sql.last(scope, tokens), [nameScope(scope), time]),
    next: (scope, time, tokens) => ask(sql.next(scope, tokens), [nameScope(scope), time]),
  }
  return {
    async note({ feed, source, table }) {
      const now = readTime(clock)
      await database.query(sql.note, [feed, now, source, ...rateValues(table)])
      await database.query(sql.forget, [now - ratesKeptMs])
    },
    async find(query) {
      const choice = chooseRates(steps, query)
      for (let step = choice.next(); ; step = choice.next(await step.value)) if (step.done) return step.value
    },
  }
}
