/** The books of the reference ledger: everything is counted when somebody asks. */
import type { PaymentListItem } from '../../../src/core/payment/history.ts'
import type {
  Books,
  EndpointSum,
  ListSum,
  PaymentListQuery,
  Period,
  Point,
  Sum,
  Usage,
} from '../../../src/core/ports/reports.ts'
import { readPayers } from '../../../src/ledger/rules/payers.ts'
import { compareMarks, listObservation, listPayment, mergeLists } from '../../../src/ledger/rules/payment-list.ts'
import { checkCount, checkPeriod } from '../../../src/ledger/rules/periods.ts'
import { countEach, isBeyond, mergeProblems } from '../../../src/ledger/rules/problems.ts'
import { revalued } from '../../../src/ledger/rules/revaluation.ts'
import { added, computeStart, dayMs, hourMs, noCounts } from '../../../src/ledger/rules/totals.ts'
import { createReferencePayers } from './payers.ts'
import { historyIn, isSecondIn, problemsIn } from './problems.ts'
import type { ReferenceMove } from './state-changes.ts'
import { movesIn } from './state-changes.ts'
import type { ReferenceEntry, Room } from './tables.ts'
import { formatKey } from './tables.ts'

export function createReferenceBooks(room: Room, now: () => number): Books {
  const { entries, seen, usage } = room
  const counted = (period: Period): readonly ReferenceMove[] => {
    checkPeriod(period)
    return movesIn(room).filter(({ at }) => isWithin(at, period))
  }
  const payment = ({ record, account }: ReferenceEntry) => listPayment({ ...record, ...account })
  const unclaimed = (time: number) =>
    [...seen.values()]
      .filter(({ tx, request }) => request !== '' && !entries.has(formatKey(tx)))
      .map((sighting) => listObservation(sighting, isSecondIn(room, sighting), time))

  return {
    async sums(period) {
      now()
      return grouped(counted(period), ({ record: { token } }) => ({ token })).sort(byToken)
    },
    async endpoints(period, most) {
      now()
      const sums: readonly EndpointSum[] = grouped(counted(period), ({ record: { endpoint, token } }) => ({
        endpoint,
        token,
      }))
      const counts = new Map<string, number>()
      for (const { endpoint, payments } of sums) counts.set(endpoint, (counts.get(endpoint) ?? 0) + payments)
      const ranked = [...counts].sort(([one, few], [other, many]) => many - few || compareText(one, other))
      return ranked
        .slice(0, most)
        .flatMap(([name]) => sums.filter(({ endpoint }) => endpoint === name).toSorted(byToken))
    },
    async series({ from, to, step, endpoint }) {
      now()
      const own = counted({ from, to }).filter(({ record }) => endpoint === undefined || record.endpoint === endpoint)
      const points: readonly Point[] = grouped(own, ({ at, record: { token } }) => ({
        at: computeStart(at, step === 'hour' ? hourMs : dayMs),
        token,
      }))
      return points.toSorted((one, other) => one.at - other.at || byToken(one, other))
    },
    async payerSeries({ payer, from, to }) {
      now()
      const own = counted({ from, to }).filter(({ record }) => record.payer === payer)
      const points: readonly Point[] = grouped(own, ({ at, record: { token } }) => ({
        at: computeStart(at, dayMs),
        token,
      }))
      return points
        .filter(({ payments, refunded }) => payments !== 0 || refunded !== 0n)
        .toSorted((one, other) => one.at - other.at || byToken(one, other))
    },
    async sumPayments(query) {
      const isIn = (capture: PaymentListItem) => isWanted(capture, query)
      const first = (all: readonly PaymentListItem[]) =>
        mergeLists(
          all.filter(isIn).toSorted((one, other) => compareMarks(other, one)),
          [],
          query,
        )
      const listed = [...first([...entries.values()].map(payment)), ...first(unclaimed(now()))]
      return sumList(listed, movesIn(room))
    },
    async findPayers(from, to, most) {
      now()
      const names = new Set(movesIn(room).map(({ record }) => record.payer))
      return [...names]
        .filter((name) => compareText(name, from) >= 0 && compareText(name, to) <= 0)
        .sort(compareText)
        .slice(0, most)
    },
    async findTransactions(from, to, most) {
      const captures = [...[...entries.values()].map(payment), ...unclaimed(now())]
      return captures
        .map(({ tx }) => tx)
        .filter((tx) => Buffer.compare(tx, from) >= 0 && Buffer.compare(tx, to) <= 0)
        .sort((one, other) => Buffer.compare(one, other))
        .slice(0, most)
    },
    async listPayments(query) {
      const captures = [...[...entries.values()].map(payment), ...unclaimed(now())]
      const direction = query.order === 'latest' ? -1 : 1
      const found = captures.filter((capture) => isWanted(capture, query))
      return mergeLists(
        found.sort((one, other) => direction * compareMarks(one, other)),
        [],
        query,
      )
    },
    async findPayment(tx) {
      const time = now()
      const entry = entries.get(formatKey(tx))
      return entry ? payment(entry) : unclaimed(time).find((capture) => formatKey(capture.tx) === formatKey(tx))
    },
    history: async (tx) => historyIn(room, tx, now()),
    payers: async (query) => {
      now()
      return readPayers(createReferencePayers(room), query)
    },
    problems: async ({ kind, after, most }) => {
      const found = problemsIn(room, now()).filter((one) => kind === undefined || one.kind === kind)
      return mergeProblems([found.filter(({ payment }) => isBeyond(payment, after))], checkCount(most))
    },
    countProblems: async (most) => {
      const found = problemsIn(room, now())
      return countEach(most, async (kind) => found.filter((one) => one.kind === kind).length)
    },
    async countUndelivered(period) {
      now()
      checkPeriod(period)
      const isBare = ({ account }: ReferenceEntry) =>
        account.undeliveredAt !== undefined && !account.late && account.finality !== 'reverted'
      const bare = [...entries.values()].filter((entry) => isBare(entry) && isWithin(entry.record.paidAt, period))
      const counts = new Map<string, number>()
      for (const { record } of bare) counts.set(record.endpoint, (counts.get(record.endpoint) ?? 0) + 1)
      return [...counts].map(([endpoint, count]) => ({ endpoint, count }))
    },
    async count(counts) {
      now()
      for (const one of counts) {
        const name = `${one.at} ${one.event} ${one.endpoint}`
        usage.set(name, { ...one, count: one.count + (usage.get(name)?.count ?? 0) })
      }
    },
    async usage(period) {
      now()
      checkPeriod(period)
      const sums = new Map<string, Usage>()
      for (const one of usage.values()) {
        const name = `${one.event} ${one.endpoint}`
        const count = one.count + (sums.get(name)?.count ?? 0)
        if (isWithin(one.at, period)) sums.set(name, { ...one, at: 0, count })
      }
      return [...sums.values()]
    },
    async audit() {
      now()
      return []
    },
    async rebuild(reportToken) {
      now()
      for (const [key, entry] of entries) {
        const worth = revalued(entry.record, room.reportToken, reportToken)
        entries.set(key, { ...entry, record: { ...entry.record, worth } })
      }
      room.reportToken = reportToken
    },
    async reportToken() {
      now()
      return room.reportToken
    },
  }
}

function isWithin(time: number, { from, to }: Period): boolean {
  return (from === undefined || time >= from) && (to === undefined || time < to)
}

function grouped<Key extends object>(
  moves: readonly ReferenceMove[],
  keyOf: (move: ReferenceMove) => Key,
): (Key & Sum)[] {
  const groups = new Map<string, Key & Sum>()
  for (const move of moves) {
    const key = keyOf(move)
    const name = JSON.stringify(key)
    groups.set(name, { ...key, token: move.record.token, ...added(groups.get(name) ?? noCounts, move.counts) })
  }
  return [...groups.values()]
}

function sumList(captures: readonly PaymentListItem[], moves: readonly ReferenceMove[]): readonly ListSum[] {
  return [...new Set(captures.map(({ token }) => token))].sort(compareText).map((token) => {
    const all = captures.filter((capture) => capture.token === token)
    const own = all.filter(({ state }) => state === 'confirmed' || state === 'finalized')
    const notOnChain = all.filter(({ fault }) => fault === 'not_on_chain').length
    const names = new Set(all.map(({ tx }) => formatKey(tx)))
    return {
      token,
      payments: own.length,
      unaccepted: all.length - own.length - notOnChain,
      notOnChain,
      units: own.reduce((sum, { units }) => sum + units, 0n),
      worth: own.reduce((sum, { worth = 0n }) => sum + worth, 0n),
      refundedWorth: moves
        .filter(({ record }) => names.has(formatKey(record.tx)))
        .reduce((sum, { counts }) => sum + counts.refundedWorth, 0n),
      unvalued: own.filter(({ worth }) => worth === undefined).length,
    }
  })
}

function isWanted(capture: PaymentListItem, query: PaymentListQuery): boolean {
  const { from, to, after, order, tx } = query
  if (!isWithin(capture.at, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) })) return false
  const names = ['endpoint', 'token', 'status', 'state', 'payer', 'request'] as const
  if (names.some((name) => query[name] !== undefined && query[name] !== capture[name])) return false
  if (tx && formatKey(tx) !== formatKey(capture.tx)) return false
  if (!after) return true
  return order === 'latest' ? compareMarks(capture, after) < 0 : compareMarks(capture, after) > 0
}

function byToken(one: Sum, other: Sum): number {
  return compareText(one.token, other.token)
}

/** As databases compare text: by its bytes. */
function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
