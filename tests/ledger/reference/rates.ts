/** The rate journal of the reference ledger. */
import type { JournaledRates } from '../../../src/core/money/rates.ts'
import { hasRates } from '../../../src/core/money/rates.ts'
import type { RateJournal } from '../../../src/core/ports/journal.ts'
import { ratesKeptMs } from '../../../src/core/ports/journal.ts'
import type { RateScope, RateSteps } from '../../../src/ledger/rules/rates.ts'
import { chooseRates, rateValues } from '../../../src/ledger/rules/rates.ts'

export function createReferenceRates(now: () => number): RateJournal {
  /** By time. */
  let entries: readonly JournaledRates[] = []
  const isIn = (scope: RateScope, feed: string): boolean =>
    'feed' in scope ? feed === scope.feed : feed.startsWith(scope.use)
  const steps: RateSteps<JournaledRates | undefined> = {
    last: (scope, time, tokens) =>
      entries.findLast((one) => isIn(scope, one.feed) && one.at <= time && hasRates(one.table, tokens)),
    next: (scope, time, tokens) =>
      entries.find((one) => isIn(scope, one.feed) && one.at > time && hasRates(one.table, tokens)),
  }
  const isForgotten = (old: JournaledRates, time: number): boolean =>
    old.at < time && entries.some((one) => one.feed === old.feed && one.at > old.at && one.at <= time)
  return {
    async note(rates) {
      const at = now()
      const last = steps.last({ feed: rates.feed }, at, [])
      if (last && String(rateValues(last.table)) === String(rateValues(rates.table))) return
      const others = entries.filter((one) => one.feed !== rates.feed || one.at !== at)
      entries = [...others, { ...rates, at }].sort((one, other) => one.at - other.at)
      entries = entries.filter((one) => !isForgotten(one, at - ratesKeptMs))
    },
    async find(query) {
      now()
      const choice = chooseRates(steps, query)
      for (let step = choice.next(); ; step = choice.next(step.value)) if (step.done) return step.value
    },
  }
}
