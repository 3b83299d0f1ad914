/** Recounts the payables: each share is owed, reserved or settled, exactly once. */
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PayeeName, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { added, byRole, type Delta, emptySum } from './payables.ts'

/** The stored sums of a payee, and the sums of its shares and payout lines. */
export interface PayeeCount extends Delta {
  /** The sum of all shares, and of those after the last paid or reserved accrual. */
  readonly shares: bigint
  readonly after: bigint
  /** The sum of payouts under way, and of those that landed. */
  readonly open: bigint
  readonly settled: bigint
  readonly sent: bigint
}

export const noCount = {
  ...{ accrued: 0n, owed: 0n, reserved: 0n, paid: 0n },
  ...{ shares: 0n, after: 0n, open: 0n, settled: 0n, sent: 0n },
}

export function auditPayees(
  payees: readonly PayeeCount[],
  sums: readonly RoleSum[],
  accruals: { readonly last: number; readonly count: number },
): readonly Discrepancy[] {
  const found = payees.flatMap((payee) => {
    const { accrued, owed, reserved, paid, shares, after, open, settled, sent } = payee
    const compare = (what: string, kept: bigint, counted: bigint): readonly Discrepancy[] =>
      kept === counted && kept >= 0n ? [] : [differing(payee, what, kept, counted)]
    return [
      ...compare('accrued', accrued, shares),
      ...compare('accrued', accrued, owed + reserved + settled),
      ...compare('owed', owed, after),
      ...compare('reserved', reserved, open),
      ...compare('paid', paid, sent),
    ]
  })
  return [...found, ...auditSums(payees, sums), ...auditNumbers(accruals)]
}

function differing({ role, payee }: PayeeName, what: string, kept: bigint, counted: bigint): Discrepancy {
  return { line: `${role} ${payee} ${what}`, kept: String(kept), counted: String(counted) }
}

function auditSums(payees: readonly Delta[], sums: readonly RoleSum[]): readonly Discrepancy[] {
  const counted = byRole(payees).map((sum) => ({
    ...added<Omit<Delta, 'payee'>>(undefined, sum),
    payees: payees.filter(({ role }) => role === sum.role).length,
  }))
  const roles = new Set([...sums, ...counted].map(({ role }) => role))
  return [...roles].flatMap((role) => {
    const kept = sums.find((sum) => sum.role === role) ?? emptySum(role)
    const own = counted.find((sum) => sum.role === role) ?? emptySum(role)
    const names = ['payees', 'accrued', 'owed', 'reserved', 'paid'] as const
    return names
      .filter((name) => kept[name] !== own[name])
      .map((name) => ({ line: `${role} ${name}`, kept: String(kept[name]), counted: String(own[name]) }))
  })
}

function auditNumbers({ last, count }: { readonly last: number; readonly count: number }): readonly Discrepancy[] {
  return last === count ? [] : [{ line: 'accruals', kept: String(last), counted: String(count) }]
}
