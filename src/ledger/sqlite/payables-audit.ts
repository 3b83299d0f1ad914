/** What is owed, added up again over a connection of its own, which sees everything as it was at one moment. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Discrepancy } from '../../core/payouts/discrepancy.ts'
import type { PayeeName, RoleSum } from '../../core/payouts/ports/rewards.ts'
import { keyOfPayee } from '../rules/payables.ts'
import type { PayeeCount } from '../rules/payables-audit.ts'
import { auditPayees, noCount } from '../rules/payables-audit.ts'
import type { SumsRow } from '../sql/payables.ts'
import { readSums } from '../sql/payables.ts'
import { parseText } from '../stored-text.ts'
import type { SqliteFile } from './file.ts'
import type { TotalRow } from './payee-balances.ts'
import { readTotal, totalOf } from './payee-balances.ts'

type SumRow = TotalRow & PayeeName
type Name = 'shares' | 'after' | 'open' | 'settled' | 'sent'

// In parts of a million, so that no sum is too large for the database.
const perMillion = 'GROUP BY role, payee, shares.number / 1000000'
const lines = (column: string, isOwn: string) => `SELECT payout_lines.role, payout_lines.payee, ${totalOf(column)}
  FROM payout_lines JOIN dispatches ON dispatches.id = dispatch WHERE ${isOwn} GROUP BY 1, 2`
const counts: Readonly<Record<Name, string>> = {
  shares: `SELECT role, payee, ${totalOf('units')} FROM shares ${perMillion}`,
  after: `SELECT role, payee, ${totalOf('shares.units')} FROM shares JOIN payees USING (role, payee)
    WHERE shares.number > payees.upto ${perMillion}`,
  open: lines('gross', "state IN ('planned', 'signed')"),
  settled: lines('gross', "state = 'landed'"),
  sent: lines('units', "state = 'landed'"),
}

export function auditSqlitePayables({ readSnapshot }: SqliteFile): Promise<readonly Discrepancy[]> {
  return readSnapshot(audit)
}

async function audit(db: DatabaseSyncInstance): Promise<readonly Discrepancy[]> {
  const all = <Row>(sql: string): readonly Row[] => {
    const statement = db.prepare(sql)
    statement.setReadBigInts(true)
    return statement.all() as unknown as Row[]
  }
  const payees = new Map<string, PayeeCount>()
  const change = (name: PayeeName, changes: (before: PayeeCount) => Partial<PayeeCount>): void => {
    const before = payees.get(keyOfPayee(name)) ?? { ...noCount, ...name }
    payees.set(keyOfPayee(name), { ...before, ...changes(before) })
  }
  for (const row of all<SumsRow & PayeeName>('SELECT role, payee, accrued, owed, reserved, paid FROM payees'))
    change({ role: row.role, payee: parseText(row.payee) }, () => readSums(row))
  for (const [name, sql] of Object.entries(counts) as [Name, string][]) {
    // Between two of them the process does what else it has to do.
    await new Promise((resolve) => setImmediate(resolve))
    for (const row of all<SumRow>(sql))
      change({ role: row.role, payee: parseText(row.payee) }, (before) => ({ [name]: before[name] + readTotal(row) }))
  }
  const sums = all<SumsRow & { readonly payees: bigint }>('SELECT * FROM role_sums')
  const [numbers] = all<Record<'last' | 'count', bigint>>(
    'SELECT coalesce(max(number), 0) AS last, count(*) AS count FROM accruals',
  )
  return auditPayees(
    [...payees.values()],
    sums.map((row): RoleSum => ({ ...readSums(row), payees: Number(row.payees) })),
    { last: Number(numbers?.last), count: Number(numbers?.count) },
  )
}
