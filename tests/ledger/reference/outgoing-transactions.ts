/** What goes out, in the reference ledger. */
import type {
  OutgoingTransaction,
  OutgoingTransactions,
  PayoutLine,
  PlannedTransaction,
  Planning,
} from '../../../src/core/payouts/ports/outgoing.ts'
import type { PayeeName } from '../../../src/core/payouts/ports/rewards.ts'
import { createLandingEvent } from '../../../src/ledger/rules/events.ts'
import type { StateChange } from '../../../src/ledger/rules/payables.ts'
import {
  checkGross,
  checkPlan,
  compareText,
  computePlanned,
  dropping,
  isCounted,
  isReady,
  keyOfPayee,
  landing,
  paidBy,
  releasedBy,
  reservedBy,
  sentBy,
  signing,
  stepTo,
  unsigning,
} from '../../../src/ledger/rules/payables.ts'
import { checkCount } from '../../../src/ledger/rules/periods.ts'
import { isUntouched } from '../../../src/ledger/rules/timeline.ts'
import { tell } from './events.ts'
import type { KeptTransaction, PayeeBalances } from './payee-balances.ts'
import { addToPayees, listShares } from './payee-balances.ts'
import type { ReferenceEntry, Room } from './tables.ts'
import { formatKey } from './tables.ts'

export function createReferenceOutgoing(room: Room, now: () => number): OutgoingTransactions {
  const { entries, till } = room
  const { dispatches, payees, byLockKey } = till
  const all = (): readonly OutgoingTransaction[] => [...dispatches.values()].map(({ dispatch }) => dispatch)
  const latest = () => all().toSorted((one, other) => compareDispatches(other, one))
  const findByLockKey = (lockKey: string): OutgoingTransaction | undefined => {
    const own = (byLockKey.get(lockKey) ?? []).flatMap((id) => dispatches.get(id)?.dispatch ?? [])
    return own
      .filter(({ state }) => state !== 'dropped')
      .toSorted(compareDispatches)
      .at(-1)
  }
  const linesOf = (id: string): readonly PayoutLine[] => dispatches.get(id)?.lines ?? []
  const settleThrough = (
    name: PayeeName,
    settledThrough: number,
    changes: { readonly why?: string; readonly parkedUntil?: number },
  ) => {
    const payee = payees.get(keyOfPayee(name))
    if (payee) payees.set(keyOfPayee(name), { ...payee, settledThrough, ...changes })
  }
  const setRefunded = (tx: Uint8Array | undefined, refundedAt: number | undefined): void => {
    if (!tx) return
    if (refundedAt === undefined) till.voided.delete(formatKey(tx))
    else till.voided.add(formatKey(tx))
    const entry = entries.get(formatKey(tx))
    if (!entry) return
    const account = { ...entry.account, refundedAt }
    // Who let its lease lapse must not come back to it.
    entries.set(formatKey(tx), { ...entry, account, leases: new Map() })
  }
  const planned = (since: number): bigint => {
    const kept = [...dispatches.values()].filter(
      ({ dispatch: { kind, state, changedAt } }) =>
        kind === 'payout' && state !== 'dropped' && (state !== 'landed' || changedAt >= since),
    )
    return kept.reduce((sum, { lines }) => sum + sentBy(lines), 0n)
  }
  const signings = (since: number): bigint => BigInt(till.signings.filter((at) => at >= since).length)
  const find = (id: string, version: number, to: StateChange): KeptTransaction | undefined => {
    const time = now()
    const kept = dispatches.get(id)
    const dispatch = stepTo(kept?.dispatch, version, to, time)
    return kept && dispatch && { ...kept, dispatch }
  }
  const step = (id: string, version: number, to: StateChange): KeptTransaction | undefined => {
    const next = find(id, version, to)
    if (next) dispatches.set(id, next)
    return next
  }

  return {
    async plan(plan): Promise<Planning> {
      checkPlan(plan)
      const time = now()
      const { id, lines, cap, voids, refunds } = plan
      if (dispatches.has(id) || isLaneTaken(all(), plan)) return { kind: 'taken' }
      if (
        voids &&
        (till.voided.has(formatKey(voids)) || !isVoidable(entries.get(formatKey(voids)), time, plan.coversUse === true))
      )
        return { kind: 'in_use' }
      if (!lines.every((line) => isReady(payees.get(keyOfPayee(line)), line))) return { kind: 'taken' }
      for (const line of lines) checkGross(line, grossOf(till, line))
      if (cap && plan.kind === 'payout' && planned(cap.since) + sentBy(lines) > cap.units) return { kind: 'capped' }
      const dispatch = computePlanned(plan, time)
      dispatches.set(id, { dispatch, lines, voids, refunds })
      if (plan.lockKey !== '') byLockKey.set(plan.lockKey, [...(byLockKey.get(plan.lockKey) ?? []), id])
      setRefunded(voids, time)
      addToPayees(till, reservedBy(lines))
      for (const line of lines) settleThrough(line, line.through, { why: '', parkedUntil: 0 })
      return { kind: 'planned', transaction: dispatch }
    },
    async sign(id, version, signed, about, budget) {
      const next = find(id, version, signing(signed, about))
      if (!next) return { kind: 'passed' }
      const { dispatch } = next
      if (isCounted(dispatch)) {
        if (budget && signings(budget.since) >= budget.most) return { kind: 'spent' }
        till.signings.push(dispatch.changedAt)
      }
      dispatches.set(id, next)
      return { kind: 'signed', transaction: dispatch }
    },
    async unsign(id, version, why, hasFailed) {
      return step(id, version, unsigning(why, hasFailed))?.dispatch
    },
    async land(id, version, slot, about) {
      const landed = step(id, version, landing(slot, about))
      if (!landed) return undefined
      addToPayees(till, paidBy(landed.lines))
      const notice = createLandingEvent(landed.dispatch)
      tell(room, [notice.kind], notice.tx, landed.dispatch.changedAt)
      return landed.dispatch
    },
    async drop(id, version, why) {
      const dropped = step(id, version, dropping(why))
      if (!dropped) return undefined
      addToPayees(till, releasedBy(dropped.lines))
      for (const line of dropped.lines) settleThrough(line, line.from, {})
      setRefunded(dropped.voids, undefined)
      return dropped.dispatch
    },
    async open() {
      now()
      return all()
        .filter(({ state }) => state === 'planned' || state === 'signed')
        .toSorted(compareDispatches)
    },
    async get(id) {
      now()
      return dispatches.get(id)?.dispatch
    },
    async findByLockKey(lockKey) {
      now()
      return findByLockKey(lockKey)
    },
    async findByLockKeys(asked) {
      now()
      return asked.map(findByLockKey)
    },
    async lines(id) {
      now()
      return linesOf(id)
    },
    async list({ kind, state, after, most }) {
      now()
      const own = latest().filter((one) => (kind ?? one.kind) === one.kind && (state ?? one.state) === one.state)
      return own.filter((one) => !after || compareDispatches(one, after) < 0).slice(0, checkCount(most))
    },
    async linesOf(name, most) {
      now()
      const found = latest().flatMap((dispatch) => {
        const own = linesOf(dispatch.id).filter((line) => keyOfPayee(line) === keyOfPayee(name))
        return own.map((line) => ({ ...line, transaction: dispatch }))
      })
      return found.slice(0, checkCount(most))
    },
    async planned(since) {
      now()
      return planned(since)
    },
    async signings(since) {
      now()
      return signings(since)
    },
  }
}

/** Of one name only one is under way, and of a refund's only one ever lands. */
function isLaneTaken(dispatches: readonly OutgoingTransaction[], { kind, lockKey }: PlannedTransaction): boolean {
  const own = dispatches.filter((one) => one.lockKey === lockKey && lockKey !== '')
  const isOpen = ({ state }: OutgoingTransaction): boolean => state === 'planned' || state === 'signed'
  return own.some((one) => isOpen(one) || (kind === 'refund' && one.kind === 'refund' && one.state !== 'dropped'))
}

/** Nothing of it was delivered, or is being delivered. */
function isVoidable(entry: ReferenceEntry | undefined, now: number, coversUse: boolean): boolean {
  if (!entry) return true
  const { account, leases } = entry
  const isHeld = [...leases.values()].some(({ deadline }) => deadline > now)
  const isUnused = coversUse || account.late || isUntouched(account)
  return isUnused && !isHeld && account.finality !== 'reverted'
}

function grossOf(till: PayeeBalances, line: PayoutLine): bigint {
  return listShares(till, line, line.from, line.through).reduce((sum, { units }) => sum + units, 0n)
}

function compareDispatches(
  one: Pick<OutgoingTransaction, 'at' | 'id'>,
  other: Pick<OutgoingTransaction, 'at' | 'id'>,
): number {
  return one.at - other.at || compareText(one.id, other.id)
}
