/** The rate journal of the reference ledger. */
import type { JournaledRates } from '../../../src/core/money/rates.ts'
import { hasRates } from '../../../src/core/money/rates.ts'
import type { RateJournal } from '../../../src/core/ports/journal.ts'
import { ratesKeptMs } from '../../../src/core/ports/journal.ts'
import { clearedAtOnce } from '../../../src/ledger/rules/events.ts'

export function createReferenceRates(now: () => number): RateJournal {
  /** By time. */
  let entries: readonly JournaledRates[] = []
  const isForgotten = (old: JournaledRates, time: number): boolean =>
    old.at < time && entries.some((one) => one.feed === old.feed && one.at > old.at && one.at <= time)
  return {
    async note(rates) {
      const at = now()
      const last = entries.findLast((one) => one.feed === rates.feed && one.at <= at)
      if (last && JSON.stringify(inOrder(last)) === JSON.stringify(inOrder(rates))) return
      const others = entries.filter((one) => one.feed !== rates.feed || one.at !== at)
      entries = [...others, { ...rates, at }].sort((one, other) => one.at - other.at)
      const forgotten = entries.filter((one) => isForgotten(one, at - ratesKeptMs)).slice(0, clearedAtOnce)
      entries = entries.filter((one) => !forgotten.includes(one))
    },
    async find({ feed, time, tokens }) {
      now()
      const own = entries.filter((one) => one.feed === feed)
      const complete = (one: JournaledRates): boolean => hasRates(one.table, tokens)
      const inForce = own.findLast(({ at }) => at <= time)
      if (inForce) return complete(inForce) ? inForce : (own.find((one) => one.at > time && complete(one)) ?? inForce)
      const use = feed.slice(0, feed.indexOf('/') + 1)
      const others = entries.filter((one) => one.feed.startsWith(use) && complete(one))
      return others.findLast(({ at }) => at <= time) ?? others[0] ?? own[0]
    },
  }
}

function inOrder({ table }: Pick<JournaledRates, 'table'>) {
  return Object.entries(table).sort()
}
