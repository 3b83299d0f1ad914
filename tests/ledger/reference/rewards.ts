/** Who is owed what, in the reference ledger. */
import type { Payee, Rewards, Ripening, RoleSum, Verification } from '../../../src/core/payouts/ports/rewards.ts'
import { checkTx } from '../../../src/ledger/rules/grants.ts'
import {
  accruedBy,
  added,
  checkAccruals,
  comparePayees,
  compareText,
  computeReach,
  emptySum,
  keyOfPayee,
  numbered,
  shownPayee,
} from '../../../src/ledger/rules/payables.ts'
import type { PayeeCount } from '../../../src/ledger/rules/payables-audit.ts'
import { auditPayees, noCount } from '../../../src/ledger/rules/payables-audit.ts'
import { compareMarks } from '../../../src/ledger/rules/payment-list.ts'
import { checkCount } from '../../../src/ledger/rules/periods.ts'
import { isUntouched } from '../../../src/ledger/rules/timeline.ts'
import type { KeptShare, PayeeBalances } from './payee-balances.ts'
import { addAccruals, addToPayees, listShares } from './payee-balances.ts'
import type { ReferenceEntry, Room } from './tables.ts'
import { formatKey } from './tables.ts'

/** A payment has become final. */
export function ripen({ till }: Room, tx: Uint8Array): void {
  if (till.isStarted) till.ripening.set(formatKey(tx), 0)
}

export function createReferenceRewards(room: Room, now: () => number): Rewards {
  const { entries, till } = room
  const { accruals, ripening, payees, rules } = till
  const shown = (time: number) => [...payees.values()].map((payee) => shownPayee(payee, time))
  const byTx = (tx: Uint8Array) => till.byTx.get(formatKey(tx))

  return {
    async start() {
      now()
      till.isStarted = true
    },
    async accruable(most) {
      const time = now()
      const due = [...ripening].filter(([, from]) => from <= time)
      const found = due.flatMap(([key]) => {
        const entry = entries.get(key)
        return entry?.account.finality === 'finalized' && !entry.account.late ? [ripeningOf(entry)] : []
      })
      const marked = found.sort((one, other) =>
        compareMarks({ ...one, at: one.paidAt }, { ...other, at: other.paidAt }),
      )
      return { payments: marked.slice(0, checkCount(most)), last: accruals.length }
    },
    async spent(payer, from, to) {
      now()
      const own = accruals.filter(
        (one) => one.payer === payer && one.why === '' && one.paidAt > from && one.paidAt <= to,
      )
      return own.reduce((sum, { worth }) => sum + worth, 0n)
    },
    async accrue(last, given) {
      checkAccruals(given)
      now()
      if (last !== accruals.length) return false
      const fresh = numbered(last, given, (tx) => byTx(tx) !== undefined)
      addAccruals(till, fresh, formatKey)
      addToPayees(till, accruedBy(fresh))
      for (const { tx } of given) ripening.delete(formatKey(tx))
      return true
    },
    async postpone(txs, until) {
      now()
      for (const tx of txs) if (ripening.has(formatKey(tx))) ripening.set(formatKey(tx), Math.ceil(until))
    },
    async keepRules(id, text) {
      now()
      if (!rules.has(id)) rules.set(id, text)
    },
    async rules(id) {
      now()
      return rules.get(id)
    },
    async accruals(after, most) {
      now()
      return accruals.slice(Math.max(0, after), Math.max(0, after) + checkCount(most))
    },
    async shared(txs) {
      for (const tx of txs) checkTx(tx)
      now()
      return txs.map((tx) => {
        const found = byTx(tx)
        return (
          found && { at: found.at, units: found.shares.reduce((sum, { units }) => sum + units, 0n), why: found.why }
        )
      })
    },
    async countAccruable() {
      now()
      return ripening.size
    },
    async due(least, most) {
      const free = shown(now()).filter(({ owed, reserved, parkedUntil }) => {
        return owed > 0n && owed >= least && reserved === 0n && parkedUntil === 0
      })
      return free.sort(byOwed).slice(0, checkCount(most))
    },
    async payees({ role, after, most }) {
      const own = shown(now()).filter((payee) => role === undefined || payee.role === role)
      const beyond = own.filter((payee) => after === undefined || comparePayees(payee, after) > 0)
      return beyond.sort(comparePayees).slice(0, checkCount(most))
    },
    async payee(name) {
      return shown(now()).find((payee) => comparePayees(payee, name) === 0)
    },
    async owed(name, most) {
      now()
      const from = payees.get(keyOfPayee(name))?.settledThrough ?? 0
      const all = listShares(till, name, from, accruals.length)
      const reach = most === undefined ? undefined : computeReach(all, most)
      const shares = reach === undefined ? all : all.filter(({ number }) => number <= reach)
      const last = shares.at(-1)
      if (!last) return undefined
      const rates = new Map<bigint, bigint>()
      for (const { rate, units } of shares) rates.set(rate, (rates.get(rate) ?? 0n) + units)
      const atRates = [...rates].map(([rate, units]) => ({ rate, units }))
      const units = shares.reduce((sum, share) => sum + share.units, 0n)
      return { from, through: last.number, units, atRates: atRates.sort(byRate), tx: last.tx }
    },
    async park(name, why, until) {
      now()
      const payee = payees.get(keyOfPayee(name))
      if (payee) payees.set(keyOfPayee(name), { ...payee, why, parkedUntil: Math.ceil(until) })
    },
    async sums() {
      now()
      return sumsOf(till)
    },
    async audit() {
      now()
      const count = accruals.length
      return auditPayees(countAll(till), sumsOf(till), { last: count, count })
    },
    async verify(verification) {
      now()
      const [from, until] = [Math.floor(verification.from), Math.floor(verification.until)]
      till.verifications.splice(0, Infinity, ...nextVerifications(till.verifications, { ...verification, from, until }))
    },
    async revoke(host, at) {
      now()
      const next = till.verifications.map((one) => (one.host === host ? revoked(one, Math.floor(at)) : one))
      const isChanged = next.some((one, index) => one !== till.verifications[index])
      till.verifications.splice(0, Infinity, ...next)
      return isChanged
    },
    async verifications(host) {
      now()
      const own = till.verifications.filter((one) => host === undefined || one.host === host)
      return own.sort((one, other) => one.from - other.from || compareText(one.host, other.host))
    },
  }
}

function ripeningOf({ record, account }: ReferenceEntry): Ripening {
  const { tx, recipient, payer, endpoint, token, required, paidAt, usableUntil, rates } = record
  const what = { tx, recipient, payer, endpoint, token, required, paidAt, usableUntil, rates }
  const collected = record.isCollected ? (record.splits ?? []) : []
  return { ...what, collected, isDelivered: !isUntouched(account) }
}

function sumsOf({ payees }: PayeeBalances): readonly RoleSum[] {
  const sums = new Map<string, RoleSum>()
  for (const payee of payees.values()) {
    const before = sums.get(payee.role) ?? emptySum(payee.role)
    sums.set(payee.role, { ...added(before, { ...payee, payees: 0 }), payees: before.payees + 1 })
  }
  return [...sums.values()]
    .map(({ role, payees, accrued, owed, reserved, paid }) => ({ role, payees, accrued, owed, reserved, paid }))
    .sort((one, other) => compareText(one.role, other.role))
}

function countAll(till: PayeeBalances): readonly PayeeCount[] {
  const counts = new Map<string, PayeeCount>()
  const sum = (shares: readonly KeptShare[]) => shares.reduce((all, { units }) => all + units, 0n)
  for (const [name, payee] of till.payees) {
    const last = till.accruals.length
    const owed = {
      shares: sum(listShares(till, payee, 0, last)),
      after: sum(listShares(till, payee, payee.settledThrough, last)),
    }
    counts.set(name, { ...noCount, ...payee, ...owed })
  }
  for (const { dispatch, lines } of till.dispatches.values())
    for (const line of lines) {
      const before = counts.get(keyOfPayee(line)) ?? { ...noCount, role: line.role, payee: line.payee }
      const isLanded = dispatch.state === 'landed'
      const landed = { settled: before.settled + line.gross, sent: before.sent + line.units }
      const change = isLanded ? landed : dispatch.state === 'dropped' ? {} : { open: before.open + line.gross }
      counts.set(keyOfPayee(line), { ...before, ...change })
    }
  return [...counts.values()]
}

function byOwed(one: Payee, other: Payee): number {
  if (one.owed !== other.owed) return one.owed < other.owed ? 1 : -1
  return comparePayees(one, other)
}

function byRate(one: { readonly rate: bigint }, other: { readonly rate: bigint }): number {
  return one.rate < other.rate ? -1 : 1
}

/** With one that begins: what holds of the host by then ends, and what would begin only then or later never holds. */
function nextVerifications(
  before: readonly Verification[],
  verification: Omit<Verification, 'isRevoked'>,
): readonly Verification[] {
  const { host, from } = verification
  const kept = before.filter((one) => one.host !== host || one.from < from)
  const ended = kept.map((one) => (one.host === host && one.until > from ? { ...one, until: from } : one))
  return [...ended, { ...verification, isRevoked: false }]
}

/** The same one where there is nothing to end. */
function revoked(verification: Verification, at: number): Verification {
  const { from, until } = verification
  return until > at ? { ...verification, until: Math.max(from, at), isRevoked: true } : verification
}
