/** What goes out, in the ledger's SQLite file. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type {
  OutgoingTransaction,
  OutgoingTransactions,
  PayoutLine,
  PlannedTransaction,
  Planning,
} from '../../core/payouts/ports/outgoing.ts'
import type { Clock } from '../../core/runtime.ts'
import { createLandingEvent } from '../rules/events.ts'
import { readTime } from '../rules/grants.ts'
import type { StateChange } from '../rules/payables.ts'
import {
  checkGross,
  checkPlan,
  computePlanned,
  computeSent,
  dropping,
  isCounted,
  isReady,
  landing,
  paidBy,
  releasedBy,
  reservedBy,
  sentBy,
  signing,
  stepTo,
  unsigning,
} from '../rules/payables.ts'
import { checkCount } from '../rules/periods.ts'
import { refundChange } from '../rules/totals.ts'
import type { LineRow, OutgoingTransactionRow } from '../sql/payables.ts'
import {
  dispatchColumns,
  lineColumns,
  readLine,
  readOutgoingTransaction,
  readPayee,
  steppedColumns,
  steppedValues,
} from '../sql/payables.ts'
import { formatText } from '../stored-text.ts'
import { prepareTelling } from './events.ts'
import type { SqliteFile } from './file.ts'
import type { TotalRow } from './payee-balances.ts'
import { preparePayeeBalances, readTotal, totalOf } from './payee-balances.ts'
import { prepareRefund } from './refunds.ts'
import type { Enter } from './writer.ts'

const isOpen = "state IN ('planned', 'signed')"

export function createSqliteOutgoing({ db, read, write }: SqliteFile, clock: Clock): OutgoingTransactions {
  const rows = prepareDispatches(db)
  const reserve = prepareReserving(db)
  const tell = prepareTelling(db)
  const refundOf = prepareRefund(db)
  const open = db.prepare(`SELECT ${dispatchColumns} FROM dispatches WHERE ${isOpen} ORDER BY at, id`)
  const inLane =
    db.prepare(`SELECT ${dispatchColumns} FROM dispatches WHERE lane = ? AND lane <> '' AND state <> 'dropped'
    ORDER BY at DESC, id DESC LIMIT 1`)
  const list = (isOwn: string) =>
    db.prepare(`SELECT ${dispatchColumns} FROM dispatches WHERE ${isOwn}(at, id) < (?, ?)
      ORDER BY at DESC, id DESC LIMIT ?`)
  const [any, ofKind, ofState, ofBoth] = [
    list(''),
    list('kind = ? AND '),
    list('state = ? AND '),
    list('kind = ? AND state = ? AND '),
  ]
  const paid = db.prepare(`SELECT ${lineColumns}, dispatch FROM payout_lines WHERE role = ? AND payee = ?
    ORDER BY at DESC, dispatch DESC LIMIT ?`)
  const readAll = (found: readonly unknown[]): readonly OutgoingTransaction[] =>
    (found as OutgoingTransactionRow[]).map(readOutgoingTransaction)

  const step = (
    id: string,
    version: number,
    to: StateChange,
    then?: (dispatch: OutgoingTransaction, enter: Enter) => void,
  ) =>
    write((enter) => {
      const dispatch = stepTo(rows.find(id), version, to, readTime(clock))
      if (!dispatch) return undefined
      rows.update(dispatch)
      then?.(dispatch, enter)
      return dispatch
    })

  return {
    async plan(plan) {
      checkPlan(plan)
      return write((): Planning => {
        const now = readTime(clock)
        const { lines, cap, voids } = plan
        if (rows.find(plan.id) || rows.isTaken(plan)) return { kind: 'taken' }
        if (voids && !reserve.canVoid(voids, now)) return { kind: 'in_use' }
        if (!reserve.canReserve(lines, now)) return { kind: 'taken' }
        if (cap && plan.kind === 'payout' && rows.planned(cap.since) + sentBy(lines) > cap.units)
          return { kind: 'capped' }
        const dispatch = computePlanned(plan, now)
        rows.insert(dispatch, plan)
        if (voids) reserve.setVoid(voids, now)
        reserve.reserve(lines)
        return { kind: 'planned', dispatch }
      })
    },
    sign: (id, version, signed, about, budget) =>
      write(() => {
        const dispatch = stepTo(rows.find(id), version, signing(signed, about), readTime(clock))
        if (!dispatch) return undefined
        if (isCounted(dispatch)) {
          if (budget && rows.signings(budget.since) >= budget.most) return 'spent'
          rows.count(dispatch)
        }
        rows.update(dispatch)
        return dispatch
      }),
    unsign: (id, version, why, hasFailed) => step(id, version, unsigning(why, hasFailed)),
    land: (id, version, slot, about) =>
      step(id, version, landing(slot, about), (dispatch, enter) => {
        reserve.land(rows.lines(id))
        const refunded = refundOf(id)
        if (refunded) enter([refundChange(refunded.booked, refunded.refund)])
        const notice = createLandingEvent(dispatch)
        tell([notice.kind], notice.tx, dispatch.changedAt)
      }),
    drop: (id, version, why) =>
      step(id, version, dropping(why), () => {
        reserve.release(rows.lines(id))
        reserve.unvoid(rows.voids(id))
      }),
    open: () => read(() => readAll(open.all())),
    get: (id) => read(() => rows.find(id)),
    inLane: (lane) => read(() => readAll(inLane.all(formatText(lane)))[0]),
    inLanes: (lanes) => read(() => lanes.map((lane) => readAll(inLane.all(formatText(lane)))[0])),
    lines: (id) => read(() => rows.lines(id)),
    list: ({ kind, state, after, most }) =>
      read(() => {
        const mark = after ? [after.at, formatText(after.id)] : [Number.MAX_SAFE_INTEGER, '']
        const statement = kind && state ? ofBoth : kind ? ofKind : state ? ofState : any
        const own = [kind, state].filter((one) => one !== undefined)
        return readAll(statement.all(...own, ...mark, checkCount(most)))
      }),
    linesOf: ({ role, payee }, most) =>
      read(() => {
        const found = paid.all(role, formatText(payee), checkCount(most)) as unknown as (LineRow & {
          readonly dispatch: string
        })[]
        return found.flatMap((row) => {
          const dispatch = rows.findStored(row.dispatch)
          return dispatch ? [{ ...readLine(row), dispatch }] : []
        })
      }),
    planned: (since) => read(() => rows.planned(since)),
    signings: (since) => read(() => rows.signings(since)),
  }
}

function prepareDispatches(db: DatabaseSyncInstance) {
  const find = db.prepare(`SELECT ${dispatchColumns} FROM dispatches WHERE id = ?`)
  const findStored = (id: string): OutgoingTransaction | undefined => {
    const row = find.get(id) as OutgoingTransactionRow | undefined
    return row && readOutgoingTransaction(row)
  }
  const underWay = db.prepare(`SELECT 1 FROM dispatches WHERE lane = ? AND lane <> '' AND ${isOpen}`)
  const refund = db.prepare("SELECT 1 FROM dispatches WHERE lane = ? AND kind = 'refund' AND state <> 'dropped'")
  const places = ['id', 'kind', 'lane', 'at', 'sent', 'voids', 'payment', ...steppedColumns]
  const insert = db.prepare(`INSERT INTO dispatches (${places.join()}) VALUES (${places.map(() => '?').join()})`)
  const update = db.prepare(`UPDATE dispatches SET ${steppedColumns.map((name) => `${name} = ?`).join()} WHERE id = ?`)
  const insertLine = db.prepare(`INSERT INTO payout_lines (dispatch, place, at, ${lineColumns})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const lines = db.prepare(`SELECT ${lineColumns} FROM payout_lines WHERE dispatch = ? ORDER BY place`)
  const voids = db.prepare('SELECT voids FROM dispatches WHERE id = ?')
  const planned = db.prepare(`
    SELECT ${totalOf('sent')} FROM (
      SELECT sent FROM dispatches WHERE kind = 'payout' AND state = 'landed' AND changed_at >= ?1
      UNION ALL SELECT sent FROM dispatches WHERE kind = 'payout' AND ${isOpen})`)
  planned.setReadBigInts(true)
  const count = db.prepare('INSERT INTO signings (at, dispatch, attempt) VALUES (?, ?, ?)')
  const signings = db.prepare('SELECT count(*) AS total FROM signings WHERE at >= ?')

  return {
    find: (id: string) => findStored(formatText(id)),
    findStored,
    isTaken: ({ kind, lane }: PlannedTransaction): boolean => {
      const name = formatText(lane)
      return underWay.get(name) !== undefined || (kind === 'refund' && refund.get(name) !== undefined)
    },
    insert: (dispatch: OutgoingTransaction, plan: PlannedTransaction): void => {
      const { kind, lane, at } = dispatch
      const id = formatText(dispatch.id)
      const about = [String(computeSent(plan)), plan.voids ?? null, plan.refunds?.tx ?? null] as const
      insert.run(id, kind, formatText(lane), at, ...about, ...steppedValues(dispatch))
      for (const [place, { role, payee, from, upto, gross, units, opening }] of plan.lines.entries()) {
        const money = [gross, units, opening].map(String)
        insertLine.run(id, place, at, role, formatText(payee), from, upto, ...money)
      }
    },
    update: (dispatch: OutgoingTransaction): void =>
      void update.run(...steppedValues(dispatch), formatText(dispatch.id)),
    lines: (id: string): readonly PayoutLine[] => (lines.all(formatText(id)) as unknown as LineRow[]).map(readLine),
    voids: (id: string): Uint8Array | null =>
      (voids.get(formatText(id)) as { readonly voids: Uint8Array | null }).voids,
    planned: (since: number): bigint => readTotal(planned.get(since) as unknown as TotalRow),
    count: ({ id, changedAt, attempts }: OutgoingTransaction): void =>
      void count.run(changedAt, formatText(id), attempts),
    signings: (since: number): bigint => BigInt((signings.get(since) as { readonly total: number }).total),
  }
}

/** What is set aside for a dispatch: what payees are owed, or a payment that is to be refunded. */
function prepareReserving(db: DatabaseSyncInstance) {
  const till = preparePayeeBalances(db)
  const gross = db.prepare(`
    SELECT ${totalOf('units')} FROM shares WHERE role = ? AND payee = ? AND number > ? AND number <= ?`)
  gross.setReadBigInts(true)
  const reach = db.prepare("UPDATE payees SET upto = ?, why = '', parked_until = 0 WHERE role = ? AND payee = ?")
  const fallBack = db.prepare('UPDATE payees SET upto = ? WHERE role = ? AND payee = ?')
  // It goes back already, or something of it was delivered or is being delivered.
  const inUse = db.prepare(`SELECT 1 FROM dispatches WHERE voids = ?1 AND state <> 'dropped' UNION ALL
    SELECT 1 FROM payments WHERE tx = ?1 AND NOT (finality <> 'reverted'
      AND (state = 'late' OR unit <> 'second' AND used = 0 AND deliveries = 0 AND positions = '')
      AND NOT EXISTS (SELECT 1 FROM grants WHERE payment = payments.id AND deadline > ?2))`)
  const setVoid = db.prepare('UPDATE payments SET refunded_at = ? WHERE tx = ?')
  const letGo = db.prepare('DELETE FROM grants WHERE payment = (SELECT id FROM payments WHERE tx = ?)')

  return {
    canVoid: (tx: Uint8Array, now: number): boolean => inUse.get(tx, now) === undefined,
    setVoid: (tx: Uint8Array, now: number): void => {
      setVoid.run(now, tx)
      // Who let its lease lapse must not come back to it.
      letGo.run(tx)
    },
    unvoid: (tx: Uint8Array | null): void => {
      if (tx) setVoid.run(null, tx)
    },
    canReserve: (lines: readonly PayoutLine[], now: number): boolean => {
      const isEveryReady = lines.every((line) => {
        const row = till.find(line)
        return isReady(row && readPayee(row, now), line)
      })
      if (!isEveryReady) return false
      for (const line of lines) {
        const { role, payee, from, upto } = line
        checkGross(line, readTotal(gross.get(role, formatText(payee), from, upto) as unknown as TotalRow))
      }
      return true
    },
    reserve: (lines: readonly PayoutLine[]): void => {
      till.add(reservedBy(lines))
      for (const { role, payee, upto } of lines) reach.run(upto, role, formatText(payee))
    },
    land: (lines: readonly PayoutLine[]): void => till.add(paidBy(lines)),
    release: (lines: readonly PayoutLine[]): void => {
      till.add(releasedBy(lines))
      for (const { role, payee, from } of lines) fallBack.run(from, role, formatText(payee))
    },
  }
}
