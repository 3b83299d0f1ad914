/** The payers of the reference ledger, counted when somebody asks. */
import type { Period } from '../../../src/core/ports/reports.ts'
import type { PayerSource, PayerStep } from '../../../src/ledger/rules/payers.ts'
import { compareMarks } from '../../../src/ledger/rules/payment-list.ts'
import { added, computeStart, dayMs, isCounted, noCounts } from '../../../src/ledger/rules/totals.ts'
import type { ReferenceMove } from './state-changes.ts'
import { movesIn } from './state-changes.ts'
import type { Room } from './tables.ts'

export function createReferencePayers(room: Room): PayerSource {
  const { entries } = room
  const moves = movesIn(room)
  const good = [...entries.values()]
    .filter(({ account }) => isCounted(account))
    .map(({ record: { paidAt, tx, payer } }) => ({ at: paidAt, tx, payer }))
    .sort((one, other) => compareMarks(other, one))
  /** The latest first. */
  const steps = ({ from, to }: Required<Period>, payers?: readonly string[]): readonly PayerStep[] => {
    const wanted = payers && new Set(payers)
    return good.filter(({ at, payer }) => at >= from && at < to && (!wanted || wanted.has(payer)))
  }
  const within = ({ from, to }: Required<Period>): readonly ReferenceMove[] =>
    moves.filter(({ at }) => at >= from && at < to)
  const sumsOf = (found: readonly ReferenceMove[]) => {
    const groups = new Map<string, ReturnType<typeof lineOf>>()
    for (const move of found) {
      const name = `${move.record.token} ${move.record.payer}`
      const line = lineOf(move)
      groups.set(name, { ...line, ...added(groups.get(name) ?? noCounts, line) })
    }
    return [...groups.values()]
  }
  return {
    top: async ({ from, to }, perDay) => {
      const days = new Set(within({ from, to }).map(({ at }) => computeStart(at, dayMs)))
      return [...days].flatMap((day) =>
        sumsOf(within({ from: day, to: day + dayMs }))
          .filter(({ payments }) => payments > 0)
          .sort((one, other) => (one.worth > other.worth ? -1 : 1))
          .slice(0, perDay)
          .map(({ payer }) => payer),
      )
    },
    sums: async (period, payers) => {
      const wanted = new Set(payers)
      return sumsOf(within(period).filter(({ record }) => wanted.has(record.payer)))
    },
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

function lineOf({ record: { payer, token }, counts }: ReferenceMove) {
  return { payer, token, ...counts }
}
