/** The settlements of the reference ledger. */
import type { RecordedSettlement, Settlement, SettlementOutcome, Settlements } from '../../../src/core/ports/sponsor.ts'
import { checkTx } from '../../../src/ledger/rules/grants.ts'
import {
  checkFee,
  checkSettlement,
  checkTime,
  computePeriods,
  judgeOpening,
} from '../../../src/ledger/rules/settlements.ts'
import { formatKey } from './tables.ts'

export function createReferenceSettlements(now: () => number): Settlements {
  /** By transaction. */
  const records = new Map<string, RecordedSettlement>()
  const list = () => [...records.values()]
  const count = (outcome: SettlementOutcome | undefined, isOwn: (settlement: Settlement) => boolean): number =>
    list().filter((record) => record.outcome === outcome && isOwn(record.settlement)).length
  const sum = (outcome: SettlementOutcome | undefined, since: number): bigint =>
    list()
      .filter((record) => record.outcome === outcome && record.settlement.at >= since)
      .reduce((total, { settlement }) => total + settlement.lamports, 0n)
  const sumSince = (since: number) => ({
    spent: sum('landed', since),
    lost: sum('failed', since),
    open: sum(undefined, Number.NEGATIVE_INFINITY),
  })
  const change = (tx: Uint8Array, changed: (record: RecordedSettlement) => RecordedSettlement): void => {
    now()
    const record = records.get(formatKey(tx))
    if (record) records.set(formatKey(tx), changed(record))
  }
  return {
    async open(given, limits) {
      const settlement = checkSettlement(given)
      const { hour, day } = computePeriods(now())
      const { tx, message, request, payer, client } = settlement
      const known =
        records.get(formatKey(tx)) ?? list().find((one) => formatKey(one.settlement.message) === formatKey(message))
      if (known) return { kind: 'known', ...known }
      const opening = judgeOpening(settlement, limits, {
        openOfRequest: count(undefined, (one) => one.request === request),
        openOfPayer: count(undefined, (one) => one.payer === payer),
        failuresOfPayer: count('failed', (one) => one.payer === payer && one.at >= hour),
        failuresOfClient: count('failed', (one) => one.client === client && one.at >= hour),
        sums: sumSince(day),
      })
      if (opening.kind === 'opened') records.set(formatKey(tx), { settlement, outcome: undefined })
      return opening
    },
    async find(tx) {
      checkTx(tx)
      now()
      return records.get(formatKey(tx))?.settlement
    },
    async findMessage(message) {
      now()
      return list().find((one) => formatKey(one.settlement.message) === formatKey(message))
    },
    async hold(tx, heldUntil) {
      checkTx(tx)
      const until = checkTime(heldUntil)
      change(tx, (record) => ({ ...record, settlement: { ...record.settlement, heldUntil: until } }))
    },
    async close(tx, outcome, lamports) {
      checkTx(tx)
      checkFee(lamports)
      change(tx, (record) => (record.outcome ? record : { outcome, settlement: { ...record.settlement, lamports } }))
    },
    async listOpen(before, most) {
      now()
      const end = checkTime(before)
      const open = list().flatMap(({ settlement, outcome }) => (outcome ? [] : [settlement]))
      const old = open.filter(({ at }) => at < end)
      return old.sort((one, other) => one.at - other.at || Buffer.compare(one.tx, other.tx)).slice(0, most)
    },
    async sums(since) {
      now()
      return sumSince(checkTime(since))
    },
    async forget(before) {
      now()
      const end = checkTime(before)
      const old = list().filter(({ settlement, outcome }) => outcome && settlement.at < end)
      for (const { settlement } of old) records.delete(formatKey(settlement.tx))
      return old.length
    },
  }
}
