/** What is owed and what goes out, of the reference ledger: for its two ports to look at and change. */
import type { OutgoingTransaction, PayoutLine, PlannedTransaction } from '../../../src/core/payouts/ports/outgoing.ts'
import type { NumberedAccrual, Payee, PayeeName, Verification } from '../../../src/core/payouts/ports/rewards.ts'
import type { Delta } from '../../../src/ledger/rules/payables.ts'
import { added, keyOfPayee } from '../../../src/ledger/rules/payables.ts'

export interface KeptTransaction {
  readonly dispatch: OutgoingTransaction
  readonly lines: readonly PayoutLine[]
  readonly voids: Uint8Array | undefined
  readonly refunds: PlannedTransaction['refunds']
}

/** What somebody is owed of one payment. */
export interface KeptShare {
  readonly number: number
  readonly rate: bigint
  readonly units: bigint
  readonly tx: Uint8Array
}

export interface PayeeBalances {
  /** Whether payments that become final ripen. */
  isStarted: boolean
  /** By transaction; from when on each is ripe. */
  readonly ripening: Map<string, number>
  /** The n-th has the number n. */
  readonly accruals: NumberedAccrual[]
  readonly byTx: Map<string, NumberedAccrual>
  /** Of each payee, in the order of their accruals. */
  readonly shares: Map<string, KeptShare[]>
  readonly payees: Map<string, Payee>
  readonly rules: Map<string, string>
  readonly verifications: Verification[]
  readonly dispatches: Map<string, KeptTransaction>
  /** The ids of what was ever planned in a lane. */
  readonly byLockKey: Map<string, string[]>
  /** Payments that go back as a whole, by transaction. */
  readonly voided: Set<string>
  /** When payouts were signed. */
  readonly signings: number[]
}

export function createPayeeBalances(): PayeeBalances {
  const owed = { accruals: [], byTx: new Map(), shares: new Map(), payees: new Map() }
  const others = {
    ripening: new Map(),
    rules: new Map(),
    verifications: [],
    dispatches: new Map(),
    byLockKey: new Map(),
  }
  const voided = new Set<string>()
  return { isStarted: false, ...owed, ...others, voided, signings: [] }
}

export function addToPayees(till: PayeeBalances, deltas: readonly Delta[]): void {
  for (const delta of deltas) {
    const before = till.payees.get(keyOfPayee(delta))
    const after = before
      ? { ...before, ...added<Delta>(before, delta) }
      : { ...delta, settledThrough: 0, why: '', parkedUntil: 0 }
    till.payees.set(keyOfPayee(delta), after)
  }
}

export function addAccruals(
  till: PayeeBalances,
  accruals: readonly NumberedAccrual[],
  keyOf: (tx: Uint8Array) => string,
): void {
  for (const accrual of accruals) {
    const { tx, number, rate } = accrual
    till.accruals.push(accrual)
    till.byTx.set(keyOf(tx), accrual)
    for (const share of accrual.shares) {
      const own = till.shares.get(keyOfPayee(share)) ?? []
      own.push({ number, rate, units: share.units, tx })
      till.shares.set(keyOfPayee(share), own)
    }
  }
}

/** The shares of a payee after an accrual, up to another. */
export function listShares(till: PayeeBalances, name: PayeeName, from: number, through: number): readonly KeptShare[] {
  return (till.shares.get(keyOfPayee(name)) ?? []).filter(({ number }) => number > from && number <= through)
}
