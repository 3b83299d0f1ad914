/** What is owed and what goes out, of the ledger in memory: for its two ports to look at and change. */
import type { Dispatch, NumberedAccrual, Payee, PayoutLine, Verification } from '../core/money-out.ts'
import type { Delta } from './dues.ts'
import { added, keyOfPayee } from './dues.ts'

export interface KeptDispatch {
  readonly dispatch: Dispatch
  readonly lines: readonly PayoutLine[]
  readonly voids: Uint8Array | undefined
}

export interface Till {
  /** Whether payments that become final ripen. */
  isStarted: boolean
  /** By transaction; from when on each is ripe. */
  readonly ripening: Map<string, number>
  /** The n-th has the number n. */
  readonly accruals: NumberedAccrual[]
  readonly payees: Map<string, Payee>
  readonly rules: Map<string, string>
  readonly verifications: Verification[]
  readonly dispatches: Map<string, KeptDispatch>
}

export function createTill(): Till {
  const maps = { ripening: new Map(), payees: new Map(), rules: new Map(), dispatches: new Map() }
  return { isStarted: false, accruals: [], verifications: [], ...maps }
}

export function addToPayees(till: Till, deltas: readonly Delta[]): void {
  for (const delta of deltas) {
    const before = till.payees.get(keyOfPayee(delta))
    const after = before
      ? { ...before, ...added<Delta>(before, delta) }
      : { ...delta, upto: 0, why: '', parkedUntil: 0 }
    till.payees.set(keyOfPayee(delta), after)
  }
}

/** The shares of a payee after an accrual, up to another. */
export function sharesOf(till: Till, name: Pick<Payee, 'role' | 'payee'>, from: number, upto: number) {
  return till.accruals.slice(from, upto).flatMap(({ number, rate, shares, tx }) => {
    const own = shares.filter(({ role, payee }) => role === name.role && payee === name.payee)
    return own.map(({ units }) => ({ number, rate, units, tx }))
  })
}
