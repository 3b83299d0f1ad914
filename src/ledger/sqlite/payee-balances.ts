/** The sums of payees and of their roles, in the ledger's SQLite file. To be changed inside a transaction. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { PayeeName } from '../../core/payouts/ports/rewards.ts'
import type { Delta } from '../rules/payables.ts'
import { added, byRole } from '../rules/payables.ts'
import type { PayeeRow, SumsRow } from '../sql/payables.ts'
import { payeeColumns, readSums } from '../sql/payables.ts'
import { formatText } from '../stored-text.ts'

/** Money is text, and adds up as two integers: `readTotal` makes one number of them. To be read as bigints. */
export const totalOf = (column: string, name = 'total'): string =>
  `coalesce(sum(CAST(substr(${column}, 1, length(${column}) - 12) AS INTEGER)), 0) AS ${name}_hi,
  coalesce(sum(CAST(substr(${column}, max(length(${column}) - 11, 1)) AS INTEGER)), 0) AS ${name}_lo`

export interface TotalRow {
  readonly total_hi: bigint
  readonly total_lo: bigint
}

export function readTotal({ total_hi, total_lo }: TotalRow): bigint {
  return total_hi * 10n ** 12n + total_lo
}

export function preparePayeeBalances(db: DatabaseSyncInstance) {
  const find = db.prepare(`SELECT ${payeeColumns} FROM payees WHERE role = ? AND payee = ?`)
  const insert = db.prepare(`
    INSERT INTO payees (accrued, owed, reserved, paid, role, payee, upto) VALUES (?, ?, ?, ?, ?, ?, 0)`)
  const update = db.prepare(
    'UPDATE payees SET accrued = ?, owed = ?, reserved = ?, paid = ? WHERE role = ? AND payee = ?',
  )
  const findSum = db.prepare('SELECT role, accrued, owed, reserved, paid FROM role_sums WHERE role = ?')
  const setSum = db.prepare(`
    INSERT INTO role_sums (accrued, owed, reserved, paid, role, payees) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (role) DO UPDATE SET accrued = excluded.accrued, owed = excluded.owed, reserved = excluded.reserved,
      paid = excluded.paid, payees = payees + excluded.payees`)
  const money = ({ accrued, owed, reserved, paid }: Omit<Delta, 'payee'>) =>
    [accrued, owed, reserved, paid].map(String) as [string, string, string, string]
  const findPayee = ({ role, payee }: PayeeName): PayeeRow | undefined =>
    find.get(role, formatText(payee)) as PayeeRow | undefined

  return {
    find: findPayee,
    /** One for each payee at the most. */
    add: (deltas: readonly Delta[]): void => {
      const fresh = deltas.filter((delta) => {
        const row = findPayee(delta)
        const after = added<Omit<Delta, 'payee'>>(row && readSums(row), delta)
        ;(row ? update : insert).run(...money(after), delta.role, formatText(delta.payee))
        return !row
      })
      for (const delta of byRole(deltas)) {
        const row = findSum.get(delta.role) as SumsRow | undefined
        const after = added<Omit<Delta, 'payee'>>(row && readSums(row), delta)
        setSum.run(...money(after), delta.role, fresh.filter(({ role }) => role === delta.role).length)
      }
    },
  }
}
