/** The payers of the ledger in memory, counted when somebody asks. */
import type { Period } from '../core/ports.ts'
import { compareMarks } from './capture.ts'
import type { Entry, Room } from './memory-room.ts'
import type { PayerSource, Step } from './payers.ts'
import { added, dayMs, isCounted, noCounts, startOf } from './rollup.ts'

export function createMemoryPayers({ entries }: Room): PayerSource {
  const good = [...entries.values()]
    .filter(({ account }) => isCounted(account))
    .map((entry) => ({ entry, at: entry.record.paidAt, tx: entry.record.tx, payer: entry.record.payer }))
    .sort((one, other) => compareMarks(other, one))
  /** The latest first. */
  const steps = ({ from, to }: Required<Period>, payers?: readonly string[]): readonly (Step & { entry: Entry })[] => {
    const wanted = payers && new Set(payers)
    return good.filter(({ at, payer }) => at >= from && at < to && (!wanted || wanted.has(payer)))
  }
  const counted = (period: Required<Period>, payers?: readonly string[]): readonly Entry[] =>
    steps(period, payers).map(({ entry }) => entry)
  const sumsOf = (found: readonly Entry[], nameOf: (entry: Entry) => string) => {
    const groups = new Map<string, ReturnType<typeof lineOf>>()
    for (const entry of found) {
      const line = lineOf(entry)
      groups.set(nameOf(entry), { ...line, ...added(groups.get(nameOf(entry)) ?? noCounts, line) })
    }
    return [...groups.values()]
  }
  return {
    top: async ({ from, to }, perDay) => {
      const days = new Set(counted({ from, to }).map(({ record }) => startOf(record.paidAt, dayMs)))
      return [...days].flatMap((day) =>
        sumsOf(counted({ from: day, to: day + dayMs }), ({ record }) => `${record.token} ${record.payer}`)
          .sort((one, other) => (one.worth > other.worth ? -1 : 1))
          .slice(0, perDay)
          .map(({ payer }) => payer),
      )
    },
    sums: async (period, payers) => sumsOf(counted(period, payers), ({ record }) => `${record.token} ${record.payer}`),
    spans: async (period, payers) =>
      payers.map((payer) => {
        const times = steps(period, [payer]).map(({ at }) => at)
        return { payer, first: times.at(-1) ?? 0, last: times[0] ?? 0 }
      }),
    walk: async (period, after, most) =>
      steps(period)
        .filter((step) => !after || compareMarks(step, after) < 0)
        .slice(0, most)
        .map(({ at, tx, payer }) => ({ at, tx, payer })),
    seen: async (period, payers, until) =>
      steps(period, payers)
        .filter((step) => compareMarks(step, until) >= 0)
        .map(({ payer }) => payer),
  }
}

function lineOf({ record: { payer, token, received, worth } }: Entry) {
  return { payer, token, payments: 1, received, worth: worth ?? 0n, unvalued: worth === undefined ? 1 : 0 }
}
